from datetime import date

from openai import OpenAI

IN_FORCE = date(2024, 1, 1)
RULES = "You explain the statutes of the club as they were adopted by the general assembly. " * 3


def ask(question):
    system = f"Statutes of {IN_FORCE.isoformat()}, in force since 2024-01-01.\n{RULES}"
    return OpenAI().responses.create(model="gpt-5", instructions=system, input=question)
