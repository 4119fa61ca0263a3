import random
import time

from openai import OpenAI

RULES = "You name birds by their song."


def ask(question):
    for attempt in range(3):
        try:
            return OpenAI().responses.create(model="gpt-5", instructions=RULES, input=question)
        except TimeoutError:
            time.sleep(random.random() * 2**attempt)
    for key in {"a": 1}:
        print(key)
