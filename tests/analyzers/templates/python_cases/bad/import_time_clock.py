# expects: PC101
from datetime import datetime

from openai import OpenAI

SYSTEM = (
    f"Server started {datetime.now()}.\n"
    + "You answer questions about the fares of the ferry, and never about the weather. " * 5
)


def ask(question):
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    )
