# expects: PC101
from datetime import datetime

from openai import OpenAI

RULES = "You turn spoken orders into lines of an order form."
EXAMPLES = [
    {"role": "user", "content": "two coffees and a roll with cheese"},
    {"role": "assistant", "content": "2 coffee\n1 roll, cheese"},
    {
        "role": "user",
        "content": "the same as yesterday, but without milk, and please a receipt for the office",
    },
    {"role": "assistant", "content": "ask: what was ordered yesterday"},
]


def order(spoken):
    messages = [{"role": "system", "content": RULES + " " + datetime.now().isoformat()}]
    messages.extend(EXAMPLES)
    messages.append({"role": "user", "content": spoken})
    return OpenAI().chat.completions.create(model="gpt-5", messages=messages)
