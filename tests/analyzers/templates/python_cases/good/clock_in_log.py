import logging
from datetime import datetime

from openai import OpenAI

RULES = (
    "You answer questions about the opening hours of the swimming pools of the town, one line for each pool. "
)


def reply(question):
    logging.info(f"request at {datetime.now()}")
    message = f"done {datetime.now()}"
    answer = OpenAI().responses.create(model="gpt-5", instructions=RULES, input=question)
    print(message)
    return answer
