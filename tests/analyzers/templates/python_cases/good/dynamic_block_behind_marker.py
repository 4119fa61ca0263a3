from datetime import datetime

import anthropic

RULES = (
    "You guide visitors through a museum of clocks. Name the maker, the year and the escapement of each clock. "
    * 20
)


def guide(question):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=[
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": f"It is {datetime.now()}. The museum closes at six."},
        ],
        messages=[{"role": "user", "content": question}],
    )
