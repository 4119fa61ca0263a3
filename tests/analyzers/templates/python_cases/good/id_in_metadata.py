import uuid

import anthropic

RULES = "You sort tickets into nine drawers and give the number of the drawer alone, without a word of explanation. "


def sort(ticket):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=10,
        metadata={"user_id": str(uuid.uuid4())},
        system=RULES,
        messages=[{"role": "user", "content": ticket}],
    )
