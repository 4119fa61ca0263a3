# expects: PC101
import datetime

from google import genai
from google.genai import types

client = genai.Client()
GUIDE = (
    "You plan menus for a school kitchen: no pork, one vegetarian dish a day, fish on Fridays, fruit daily. "
    * 3
)


def plan(wishes):
    return client.models.generate_content(
        model="gemini-2.5-pro",
        contents=wishes,
        config=types.GenerateContentConfig(system_instruction=f"{datetime.datetime.now()} {GUIDE}"),
    )
