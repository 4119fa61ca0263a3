from openai import OpenAI

RULES = "Answer from the passages alone, quote the one that you used, and say so when none helps. " * 3


def ask(retriever, question):
    docs = retriever.invoke(question)
    context = "\n\n".join(doc.page_content for doc in docs)
    return OpenAI().chat.completions.create(
        model="gpt-5",
        messages=[
            {"role": "system", "content": RULES},
            {"role": "user", "content": f"Passages:\n{context}\n\nQuestion: {question}"},
        ],
    )
