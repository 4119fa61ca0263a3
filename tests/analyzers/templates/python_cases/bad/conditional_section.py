# expects: PC111
from openai import OpenAI

RULES = (
    "You answer questions about a newspaper's subscription: price, delivery, holidays, cancelling, the app. "
    * 5
)


def ask(user, question):
    system = ""
    if user.is_premium:
        system += "Offer the morning edition first.\n"
    system += RULES
    return OpenAI().responses.create(model="gpt-5", instructions=system, input=question)
