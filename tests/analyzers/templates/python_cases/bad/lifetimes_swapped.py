# expects: PC303
import anthropic

SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


def ask(question):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=[
            {"type": "text", "text": "You are a guide.", "cache_control": SHORT},
            {"type": "text", "text": "The museum opens at nine.", "cache_control": LONG},
        ],
        messages=[{"role": "user", "content": question}],
    )
