# expects: PC102
from datetime import date

from openai import OpenAI

RULES = (
    "You plan rounds for a postman with a bicycle. Start with parcels, avoid hills before noon, end at the office. "
    * 4
)


def plan(stops):
    return OpenAI().responses.create(
        model="gpt-5", instructions=f"Today is {date.today()}. {RULES}", input=stops
    )
