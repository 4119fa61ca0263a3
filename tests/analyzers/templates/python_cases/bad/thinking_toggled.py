# expects: PC402
import anthropic


def run(messages, question):
    hard = len(question) > 500
    thinking = {"type": "enabled", "budget_tokens": 4000} if hard else {"type": "disabled"}
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=8000, thinking=thinking, messages=messages
    )
