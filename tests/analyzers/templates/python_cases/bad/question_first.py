# expects: PC108
from openai import OpenAI


def ask(question):
    prompt = (
        "Question: "
        + question
        + "\n"
        + "Answer in at most three sentences, without foreign words, and name a source. " * 4
    )
    return OpenAI().responses.create(model="gpt-5", input=prompt)
