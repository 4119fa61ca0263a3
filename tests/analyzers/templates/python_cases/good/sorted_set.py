from openai import OpenAI

TOPICS = {"bread", "cake", "coffee"}
RULES = "You only talk about the listed topics, and steer back to them in a friendly way. " * 3


def ask(question):
    if question in TOPICS:
        return question
    system = ", ".join(sorted(TOPICS)) + RULES
    return OpenAI().responses.create(model="gpt-5", instructions=system, input=question)
