# expects: PC104
from openai import OpenAI

RULES = (
    "Work on the task with the tools. Say DONE when nothing is left to do. Never repeat a call that failed. "
    * 3
)


def run(task, history):
    for step in range(20):
        messages = [
            {"role": "system", "content": f"Step {step}. {RULES}"},
            *history,
            {"role": "user", "content": task},
        ]
        OpenAI().chat.completions.create(model="gpt-5", messages=messages)
