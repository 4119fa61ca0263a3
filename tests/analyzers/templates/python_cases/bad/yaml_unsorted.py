# expects: PC202
import yaml
from openai import OpenAI

RULES = (
    "Answer from the settings above. Name the setting, its value, and what it does, in one sentence each. "
    * 3
)


def ask(row, question):
    head = yaml.dump(row, sort_keys=False)
    return OpenAI().responses.create(model="gpt-5", instructions=head + RULES, input=question)
