# expects: PC101
from datetime import datetime

from openai import OpenAI

PROMPT = """<time>{{TIME}}</time>
You keep the log of a harbour. Write each arrival in one line: ship, flag, berth, cargo. Ask for what is missing,
and never guess a flag from the name of a ship."""


def log(message):
    text = PROMPT.replace("{{TIME}}", datetime.now().strftime("%H:%M"))
    return OpenAI().responses.create(model="gpt-5", instructions=text, input=message)
