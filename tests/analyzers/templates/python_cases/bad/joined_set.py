# expects: PC204
import litellm

RULES = (
    "Only use the listed sources. Say which one you used. Say so when none of them answers the question. " * 3
)


async def ask(question, topics: set[str]):
    system = "Topics: " + ", ".join(topics) + "\n" + RULES
    return await litellm.acompletion(
        model="claude-sonnet-4-5",
        messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
    )
