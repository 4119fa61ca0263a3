from datetime import datetime

from openai import OpenAI

RULES = (
    "You answer questions about gardening. Give the season in which the work is best done, and the tools. "
    * 3
)


def reply(question):
    return OpenAI().chat.completions.create(
        model="gpt-5",
        messages=[
            {"role": "system", "content": RULES},
            {"role": "user", "content": f"{question}\n\n(It is {datetime.now()}.)"},
        ],
    )
