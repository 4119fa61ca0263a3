# expects: PC204
from openai import OpenAI

SKILLS = {"search", "calculator", "calendar", "mail"}
RULES = (
    "Use a skill only when the question needs it, and name the skill that you used at the end of the answer. "
    * 2
)


def system_prompt():
    lines = ""
    for skill in SKILLS:
        lines += f"- {skill}\n"
    return "Skills:\n" + lines + RULES


def ask(question):
    return OpenAI().chat.completions.create(
        model="gpt-5",
        messages=[{"role": "system", "content": system_prompt()}, {"role": "user", "content": question}],
    )
