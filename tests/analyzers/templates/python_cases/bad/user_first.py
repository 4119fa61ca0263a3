# expects: PC106
from openai import OpenAI

RULES = (
    "You help members of a sports club to book courts, cancel bookings and find partners of their strength. "
    * 4
)


def ask(user, question):
    return OpenAI().chat.completions.create(
        model="gpt-5",
        messages=[
            {"role": "system", "content": f"You talk to {user.name}. {RULES}"},
            {"role": "user", "content": question},
        ],
    )
