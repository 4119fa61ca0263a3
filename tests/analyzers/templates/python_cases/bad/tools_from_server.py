# expects: PC201
from anthropic import AsyncAnthropic

client = AsyncAnthropic()


async def ask(session, question):
    listed = await session.list_tools()
    tools = [
        {"name": t.name, "description": t.description, "input_schema": t.inputSchema} for t in listed.tools
    ]
    return await client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        tools=tools,
        messages=[{"role": "user", "content": question}],
    )
