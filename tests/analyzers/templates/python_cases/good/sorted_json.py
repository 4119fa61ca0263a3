import json

from openai import OpenAI

RULES = (
    "Answer from the price list alone. Give the price with tax. Round to full cents. Never give a discount. "
    * 3
)


def ask(prices, question):
    system = RULES + "\n" + json.dumps(prices, sort_keys=True)
    settings = json.dumps({"tone": "calm", "length": "short"})
    return OpenAI().responses.create(model="gpt-5", instructions=settings + system, input=question)
