# expects: PC204
import os

from openai import OpenAI


def ask(question):
    files = "\n".join(os.listdir("handbook"))
    system = (
        f"Files:\n{files}\n"
        + "You find the page of the handbook that answers the question and quote it. " * 5
    )
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "system", "content": system}, {"role": "user", "content": question}]
    )
