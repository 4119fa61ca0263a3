from datetime import datetime

from jinja2 import Environment
from openai import OpenAI

env = Environment()
TEMPLATE = env.from_string(
    "You write postcards for people on a journey.\n{# {{ moment }} #}\n{{ wish }}\n{{ moment }}"
)


def write(wish):
    return OpenAI().responses.create(model="gpt-5", input=TEMPLATE.render(wish=wish, moment=datetime.now()))
