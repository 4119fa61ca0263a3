# expects: PC201
import anthropic

REGISTRY = {}


def tool(function):
    REGISTRY[function.__name__] = function
    return function


def ask(question):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        tools=[{"name": t.name, "input_schema": t.parameters} for t in REGISTRY.values()],
        messages=[{"role": "user", "content": question}],
    )
