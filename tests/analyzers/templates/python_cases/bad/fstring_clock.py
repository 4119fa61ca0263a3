# expects: PC101
from datetime import datetime

from openai import OpenAI

client = OpenAI()


def reply(question):
    return client.chat.completions.create(
        model="gpt-5",
        messages=[
            {
                "role": "system",
                "content": f"""It is {datetime.now()}.
You answer questions about gardening. Give the season in which the work is best done,
the tools that are needed, and a warning where a plant is poisonous for pets.""",
            },
            {"role": "user", "content": question},
        ],
    )
