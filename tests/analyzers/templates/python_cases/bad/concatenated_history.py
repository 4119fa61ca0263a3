# expects: PC101
from datetime import datetime

from openai import AsyncOpenAI

client = AsyncOpenAI()


async def turn(history, text):
    head = [{"role": "system", "content": "You are a travel agent. Time: " + str(datetime.now())}]
    return await client.chat.completions.create(
        model="gpt-5", messages=head + history + [{"role": "user", "content": text}]
    )
