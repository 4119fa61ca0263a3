# expects: PC109
import random

from openai import OpenAI

RULES = "Choose the best of the listed offers, say why in one sentence, and name what speaks against it. " * 3


def ask(question):
    offers = ["train", "bus", "bicycle"]
    random.shuffle(offers)
    system = "\n".join(offers) + "\n" + RULES
    return OpenAI().responses.create(model="gpt-5", instructions=system, input=question)
