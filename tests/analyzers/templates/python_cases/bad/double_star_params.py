# expects: PC103
import uuid

import anthropic

client = anthropic.Anthropic()


def run(document_question):
    params = {
        "model": "claude-opus-4-5",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": document_question}],
    }
    params["system"] = (
        f"Trace {uuid.uuid4()}. " + "You read contracts and list the clauses that end them early. " * 8
    )
    return client.messages.create(**params)
