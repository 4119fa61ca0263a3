# expects: PC301
import anthropic


def block(text):
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def ask(question):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=[
            block("Who you are."),
            block("What you do."),
            block("How you write."),
            block("What you know."),
        ],
        messages=[{"role": "user", "content": [block(question)]}],
    )
