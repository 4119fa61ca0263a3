# expects: PC501
from openai import OpenAI

SYSTEM = {"role": "system", "content": "You are a patient tutor."}


def turn(history, text):
    history.append({"role": "user", "content": text})
    return OpenAI().chat.completions.create(model="gpt-5", messages=[SYSTEM] + history[-12:])
