# expects: PC209
import anthropic

READ = {"name": "read_order", "input_schema": {"type": "object"}}
DELETE = {"name": "delete_order", "input_schema": {"type": "object"}}


def ask(user, question):
    tools = [READ]
    if user.is_admin:
        tools.append(DELETE)
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        tools=tools,
        messages=[{"role": "user", "content": question}],
    )
