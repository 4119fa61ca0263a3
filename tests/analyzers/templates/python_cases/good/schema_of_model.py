import json

from openai import OpenAI
from pydantic import BaseModel


class Order(BaseModel):
    article: str
    pieces: int


RULES = (
    "Fill in the order from the letter. Leave out what the letter does not say. Never invent an article. " * 3
)


def ask(letter):
    system = json.dumps(Order.model_json_schema()) + "\n" + RULES
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "system", "content": system}, {"role": "user", "content": letter}]
    )
