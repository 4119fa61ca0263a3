# expects: PC205
from openai import OpenAI

RULES = "You check passwords of a manual for a router. Say what is missing and give one better example. " * 3


def ask(question):
    return OpenAI().responses.create(model="gpt-5", instructions=f"v{hash(RULES)} {RULES}", input=question)
