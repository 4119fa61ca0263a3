from openai import OpenAI

RULES = ["Be brief.", "Be kind.", "Name your source.", "Ask when something is unclear."]


def system_prompt():
    return (
        "\n".join(f"{number}. {rule}" for number, rule in enumerate(RULES, 1))
        + "\nThese rules have no exceptions."
    )


def ask(question):
    return OpenAI().responses.create(model="gpt-5", instructions=system_prompt(), input=question)
