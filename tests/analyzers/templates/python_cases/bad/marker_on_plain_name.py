# expects: PC306
import anthropic

RULES = (
    "You review translations of legal texts. List each place that changes the meaning, with the better wording. "
    * 3
)


def ask(entered):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=RULES,
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": entered, "cache_control": {"type": "ephemeral"}}],
            }
        ],
    )
