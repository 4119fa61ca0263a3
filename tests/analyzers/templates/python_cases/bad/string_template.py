# expects: PC101
import string
import time

from openai import OpenAI

PROMPT = string.Template(
    "Started at $started.\nYou translate menus. Keep the names of dishes, explain them in brackets, "
    "and mark what contains nuts, gluten or milk with the usual letters."
)


def translate(menu):
    system = PROMPT.substitute(started=time.ctime())
    return OpenAI().responses.create(model="gpt-5", instructions=system, input=menu)
