# expects: PC103
from uuid import uuid4

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage

model = ChatAnthropic(model="claude-sonnet-4-5")
TASK = (
    "You grade essays of the ninth form. Judge structure, argument and language with one to five points each. "
    * 3
)


def grade(essay):
    return model.invoke([SystemMessage(content=f"[{uuid4()}] {TASK}"), HumanMessage(content=essay)])
