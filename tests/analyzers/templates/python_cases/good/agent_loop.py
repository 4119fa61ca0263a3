from openai import OpenAI

client = OpenAI()
SYSTEM = "You repair bicycles with the tools you are given, and say what you did."


def run(task, tools):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    while True:
        answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools)
        message = answer.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": run_tool(call)})


def run_tool(call):
    return call.function.name
