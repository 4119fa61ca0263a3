# expects: PC404
from openai import OpenAI


def run(messages, tools, step):
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=messages, tools=tools, tool_choice="required" if step == 1 else "auto"
    )
