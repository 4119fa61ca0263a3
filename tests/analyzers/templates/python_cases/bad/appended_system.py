# expects: PC101
import time

import anthropic

client = anthropic.Anthropic()
HOUSE_RULES = """Answer in the language of the guest. Quote prices with tax. Never promise a room
that the booking system does not show as free. Offer the late check-out only on weekdays."""


def answer(guest_text):
    blocks = []
    blocks.append({"type": "text", "text": f"Request time: {time.time()}"})
    blocks.append({"type": "text", "text": HOUSE_RULES})
    return client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=400,
        system=blocks,
        messages=[{"role": "user", "content": guest_text}],
    )
