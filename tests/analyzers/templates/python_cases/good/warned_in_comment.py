"""Never put datetime.now() into the system prompt: f"{datetime.now()} {RULES}"."""

from openai import OpenAI

# never put datetime.now() in the system prompt
RULES = "You answer in rhymes."


def reply(question):
    # f"{datetime.now()} {RULES}"
    return OpenAI().responses.create(model="gpt-5", instructions=RULES, input=question)
