# expects: PC101
from datetime import datetime

from openai import OpenAI

client = OpenAI()


def go_on(history):
    conversation = list(history)
    conversation.insert(
        0, {"role": "system", "content": datetime.now().strftime("It is %H:%M. Keep it short.")}
    )
    return client.chat.completions.create(model="gpt-5", messages=conversation)
