# expects: PC101
from datetime import datetime

from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("some/model")
STYLE = (
    "You answer as a patient teacher of mathematics, step by step, and end with a question to the pupil. " * 3
)


def render(history):
    chat = [{"role": "system", "content": f"{datetime.now():%d.%m. %H:%M} {STYLE}"}, *history]
    return tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
