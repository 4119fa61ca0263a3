# expects: PC201
from openai import OpenAI

NAMES = {"search", "fetch", "store"}


def ask(question):
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in NAMES]
    return OpenAI().chat.completions.create(
        model="gpt-5", tools=tools, messages=[{"role": "user", "content": question}]
    )
