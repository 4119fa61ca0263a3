import anthropic

_client = anthropic.Anthropic()


def ask_model(system, question):
    return _client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=system,
        messages=[{"role": "user", "content": question}],
    )
