# expects: PC101
from datetime import datetime

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI

prompt = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "Clock: {stamp}\nYou sort letters of a town hall by department. Answer with the department's "
            "number alone. Letters without a sender go to department nine.",
        ),
        ("human", "{letter}"),
    ]
)
chain = prompt | ChatOpenAI(model="gpt-5")


def sort(letter):
    return chain.invoke({"stamp": datetime.now().isoformat(), "letter": letter})
