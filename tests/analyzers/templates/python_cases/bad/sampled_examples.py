# expects: PC109
import random

from openai import OpenAI

SHOTS = ["red -> stop", "green -> go", "yellow -> wait", "blue -> unknown"]
RULES = "Answer with one word in lower case. Answer unknown for colours that no traffic light shows. " * 3


def ask(colour):
    shots = "\n".join(random.sample(SHOTS, 2))
    return OpenAI().chat.completions.create(
        model="gpt-5",
        messages=[{"role": "system", "content": f"{shots}\n{RULES}"}, {"role": "user", "content": colour}],
    )
