# expects: PC107
from anthropic import Anthropic

RULES = "Answer from the passages alone. Quote the passage that you used. Say so when no passage helps. " * 4


def ask(store, question):
    docs = store.similarity_search(question)
    context = "\n\n".join(doc.page_content for doc in docs)
    return Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=f"{context}\n\n{RULES}",
        messages=[{"role": "user", "content": question}],
    )
