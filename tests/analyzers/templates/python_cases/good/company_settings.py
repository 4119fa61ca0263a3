from openai import OpenAI
from settings import COMPANY, settings

RULES = "You answer the telephone of a workshop and take down name, number, and what is broken. " * 3


def ask(question):
    system = f"You work for {COMPANY}, {settings.company_name}. {RULES}"
    return OpenAI().responses.create(model="gpt-5", instructions=system, input=question)
