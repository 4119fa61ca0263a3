from openai import OpenAI

CHOICE = "required"
TOOLS = [
    {"type": "function", "function": {"name": "zoom", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "ask", "parameters": {"type": "object"}}},
]


def run(messages):
    for tool in TOOLS:
        print(tool["function"]["name"])
    return OpenAI().chat.completions.create(model="gpt-5", tools=TOOLS, tool_choice=CHOICE, messages=messages)
