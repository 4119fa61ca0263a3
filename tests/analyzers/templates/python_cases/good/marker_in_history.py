import anthropic

RULES = (
    "You review translations of legal texts. List each place that changes the meaning, with the better wording. "
    * 90
)


def ask(history, question):
    messages = [*history, {"role": "user", "content": question}]
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=RULES,
        messages=messages,
    )
