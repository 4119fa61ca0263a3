from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_openai import ChatOpenAI

prompt = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You are the help desk of a library of things: drills, tents, projectors, a cargo bicycle.",
        ),
        MessagesPlaceholder("history"),
        ("human", "{question}"),
    ]
)
chain = prompt | ChatOpenAI(model="gpt-5", temperature=0)


def ask(question, history):
    return chain.invoke({"question": question, "history": history})
