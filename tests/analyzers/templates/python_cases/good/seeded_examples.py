import random

from openai import OpenAI

SHOTS = ["one", "two", "three", "four"]
RULES = "Continue the row with the next number, written out, in lower case, without a full stop. " * 3


def ask(question):
    shots = random.Random(7).sample(SHOTS, 2)
    return OpenAI().responses.create(model="gpt-5", instructions="\n".join(shots) + RULES, input=question)
