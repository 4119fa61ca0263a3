# expects: PC101
from datetime import datetime

from jinja2 import Template
from openai import OpenAI

HEAD = Template(
    "{{ moment }}\nYou are the librarian of a small town. Recommend three books, one of them by a local "
    "author, and say on which shelf they stand. Never recommend a book that is lent out."
)


def recommend(wish):
    text = HEAD.render(moment=datetime.now().isoformat())
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "system", "content": text}, {"role": "user", "content": wish}]
    )
