"""Make a log that looks like that of a company's agents: many turns, tools, tool calls, growing histories.

    python -m benchmarks.agent_log OUT.jsonl [--requests 20000] [--seed 1]

20 applications, each with its own system prompt and 0, 3, 5 or 8 tools; conversations arrive at random, and each
turn sends the whole history again, so most bytes repeat. The same seed gives the same bytes.
"""

import argparse
import heapq
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

_SYLLABLES = (
    "ba ce di fo gu ha ki lo mu ne or pa qui ra se ti un ve wo xe ya zu th st an ing er on al".split()
)
_START = datetime(2026, 10, 5, 8, 0, tzinfo=UTC)


def _vocabulary(random_: random.Random, size: int = 6000) -> list[str]:
    return ["".join(random_.choices(_SYLLABLES, k=random_.randint(1, 4))) for _ in range(size)]


def _prose(random_: random.Random, words: list[str], count: int) -> str:
    text = []
    while count > 0:
        length = min(count, random_.randint(6, 18))
        text.append(" ".join(random_.choices(words, k=length)).capitalize() + ".")
        count -= length
    return " ".join(text)


def _tool(random_: random.Random, words: list[str], number: int) -> dict[str, object]:
    properties = {
        f"{random_.choice(words)}_{i}": {"type": "string", "description": _prose(random_, words, 12)}
        for i in range(4)
    }
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:2]}
    function = {
        "name": f"tool_{number}_{random_.choice(words)}",
        "description": _prose(random_, words, 30),
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


def agent_log(requests: int, seed: int = 1) -> Iterator[str]:
    """The lines of the log, in time order: `{id, timestamp, request, response}` with OpenAI chat bodies."""
    random_ = random.Random(seed)
    words = _vocabulary(random_)
    applications = []
    for number in range(20):
        tools = [_tool(random_, words, i) for i in range((0, 3, 5, 8)[number % 4])]
        applications.append((_prose(random_, words, random_.randint(250, 700)), tools))
    # One heap entry a live conversation: (time of its next request, tie-break, application, messages, turns left).
    heap: list[tuple[float, int, int, list[dict[str, object]], int]] = []
    arrival, made, conversation = 0.0, 0, 0
    while made < requests:
        while not heap or heap[0][0] > arrival:
            application = random_.randrange(20)
            messages: list[dict[str, object]] = [{"role": "system", "content": applications[application][0]}]
            messages.append({"role": "user", "content": _prose(random_, words, random_.randint(20, 120))})
            heapq.heappush(heap, (arrival, conversation, application, messages, random_.randint(1, 13)))
            arrival += random_.expovariate(1 / 12)
            conversation += 1
        moment, tie, application, messages, left = heapq.heappop(heap)
        tools = applications[application][1]
        body: dict[str, object] = {"model": "gpt-4.1", "messages": messages}
        if tools:
            body["tools"] = tools
        calls_tool = bool(tools) and random_.random() < 0.6
        if calls_tool:
            call = {
                "id": f"call_{made:08d}",
                "type": "function",
                "function": {
                    "name": random_.choice(tools)["function"]["name"],  # type: ignore[index]
                    "arguments": json.dumps({random_.choice(words): _prose(random_, words, 8)}),
                },
            }
            answer: dict[str, object] = {"role": "assistant", "content": None, "tool_calls": [call]}
            result = json.dumps({"rows": [_prose(random_, words, 20) for _ in range(random_.randint(2, 10))]})
            following: dict[str, object] = {"role": "tool", "tool_call_id": call["id"], "content": result}
        else:
            answer = {"role": "assistant", "content": _prose(random_, words, random_.randint(30, 200))}
            following = {"role": "user", "content": _prose(random_, words, random_.randint(10, 80))}
        stamp = (_START + timedelta(seconds=moment)).isoformat(timespec="milliseconds")
        response = {"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
        yield json.dumps({"id": f"req-{made:06d}", "timestamp": stamp, "request": body, "response": response})
        made += 1
        if left > 1:
            pause = 2.0 if calls_tool else random_.lognormvariate(3.4, 1.2)
            history = [*messages, answer, following]
            heapq.heappush(heap, (moment + 1 + pause, tie, application, history, left - 1))


def write_agent_log(path: Path, requests: int, seed: int = 1) -> None:
    """Write the log to a file, one request a line."""
    with path.open("w", encoding="utf-8") as file:
        for line in agent_log(requests, seed):
            file.write(line)
            file.write("\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write_agent_log(arguments.out, arguments.requests, arguments.seed)
