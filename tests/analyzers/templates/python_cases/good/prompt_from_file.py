from pathlib import Path

from openai import OpenAI

HERE = Path(__file__).parent
SYSTEM = (HERE / "prompts" / "system.md").read_text()


def ask(question, history):
    head = [{"role": "system", "content": SYSTEM}]
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[*head, *history, {"role": "user", "content": question}]
    )
