import uuid
from datetime import datetime

from openai import OpenAI

RULES = "You explain board games to children, with one example for each rule. " * 3
OLD_PROMPT = f"{datetime.now()} {uuid.uuid4()} {RULES}"


def old_prompt():
    return f"{datetime.now()}\n{RULES}"


def ask(question):
    return OpenAI().responses.create(model="gpt-5", instructions=RULES, input=question)
