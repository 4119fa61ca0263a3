"""Make the sample logs in this folder: `python -m sample_logs.make_samples`. The same bytes every time.

Each log reads like a real one and shows one thing:

- `healthy_agent.jsonl`: a support agent with tools whose prompts only grow; the provider's cache works.
- `support_bot_clock.jsonl`: the same kind of bot with the time of day in its first line; nothing is ever read.
- `rag_shuffled.jsonl`: a question service that puts the same documents in another order each time.
- `coding_agent_markers.jsonl`: a coding agent on the Anthropic API, with cache markers and usage.
- `hash_trace.jsonl`: block hashes without any text, as serving engines export them.
"""

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzers.pipeline import TracedLog

from sample_logs.texts import ANSWERS, CODING_RULES, DOCUMENTS, FILES, FOLLOW_UPS, POLICY, QUESTIONS, TOOLS

FOLDER = Path(__file__).parent
START = datetime(2026, 10, 5, 9, 0, tzinfo=UTC)

Message = dict[str, Any]
Record = dict[str, Any]


def _stamp(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _support(
    first_line: Callable[[float], str], seed: int, conversations: int
) -> Iterator[tuple[float, Record]]:
    """Support conversations with tools; `first_line` makes the first line of the system prompt."""
    random_ = random.Random(seed)
    begin = 0.0
    for number in range(conversations):
        begin += random_.expovariate(1 / 40)
        moment = begin
        order = f"NW-{random_.randint(40000, 59999)}"
        history: list[Message] = [
            {"role": "user", "content": random_.choice(QUESTIONS).format(order=order)},
        ]
        for turn in range(random_.randint(2, 6)):
            system = {"role": "system", "content": f"{first_line(moment)}\n\n{POLICY}"}
            body = {"model": "gpt-4.1", "messages": [system, *history], "tools": TOOLS}
            answer: Message
            if turn % 2 == 0:
                call = {
                    "id": f"call_{number:03d}{turn}",
                    "type": "function",
                    "function": {"name": "find_order", "arguments": json.dumps({"order": order})},
                }
                answer = {"role": "assistant", "content": None, "tool_calls": [call]}
                state = {
                    "order": order,
                    "state": random_.choice(["packed", "shipped", "in delivery"]),
                    "items": random_.randint(1, 4),
                    "tracking": f"TR{random_.randint(10**8, 10**9)}",
                }
                following = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(state)}
                pause = 1.5
            else:
                answer = {"role": "assistant", "content": random_.choice(ANSWERS)}
                following = {"role": "user", "content": random_.choice(FOLLOW_UPS)}
                pause = random_.lognormvariate(3.3, 0.8)
            record = {
                "session": f"chat-{number:03d}",
                "request": body,
                "response": {"choices": [{"message": answer}]},
            }
            yield moment, record
            history = [*history, answer, following]
            moment += 2.0 + pause


def _retrieval(seed: int, questions: int) -> Iterator[tuple[float, Record]]:
    """Questions over five documents of eight, in the order in which a search happened to rank them."""
    random_ = random.Random(seed)
    moment = 0.0
    head = (
        "Answer from the documents alone. If they do not say, answer that they do not say. Cite the article."
    )
    for _ in range(questions):
        moment += random_.expovariate(1 / 25)
        found = random_.sample(DOCUMENTS[:6], 5)
        user = f"Documents:\n\n{chr(10).join(found)}\n\nQuestion: who pays for transport, and how long does it take?"
        messages = [{"role": "system", "content": head}, {"role": "user", "content": user}]
        answer = {
            "role": "assistant",
            "content": "Transport is free inside the country; a decision takes 14 days.",
        }
        body = {"model": "gpt-4.1-mini", "messages": messages}
        yield (
            moment,
            {"route": "policy-questions", "request": body, "response": {"choices": [{"message": answer}]}},
        )


def _coding(seed: int, sessions: int) -> Iterator[tuple[float, Record]]:
    """A coding agent on the Messages API: markers on the system prompt and on the newest message."""
    random_ = random.Random(seed)
    marker = {"type": "ephemeral"}
    tools = [
        {
            "name": name,
            "description": text,
            "input_schema": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        }
        for name, text in (
            ("read_file", "Read a file."),
            ("write_file", "Write a file."),
            ("run_tests", "Run tests."),
        )
    ]
    begin = 0.0
    for number in range(sessions):
        begin += 200 + random_.expovariate(1 / 400)
        moment = begin
        history: list[Message] = [
            {
                "role": "user",
                "content": [{"type": "text", "text": "The returns test fails since Monday. Please look."}],
            }
        ]
        for turn in range(random_.randint(5, 9)):
            last = history[-1]
            blocks = [*last["content"][:-1], {**last["content"][-1], "cache_control": marker}]
            body = {
                "model": "claude-sonnet-4-5",
                "max_tokens": 2048,
                "tools": tools,
                "system": [{"type": "text", "text": CODING_RULES, "cache_control": marker}],
                "messages": [*history[:-1], {**last, "content": blocks}],
            }
            path = random_.choice(list(FILES))
            use = {
                "type": "tool_use",
                "id": f"toolu_{number:02d}{turn}",
                "name": "read_file",
                "input": {"path": path},
            }
            answer = {"role": "assistant", "content": [{"type": "text", "text": f"I look at {path}."}, use]}
            result = {
                "type": "tool_result",
                "tool_use_id": use["id"],
                "content": FILES[path] * random_.randint(1, 6),
            }
            response = {"role": "assistant", "content": answer["content"]}
            yield moment, {"session": f"work-{number:02d}", "request": body, "response": response}
            history = [*history, answer, {"role": "user", "content": [result]}]
            # Most turns follow within seconds; now and then the person goes for lunch and the entry expires.
            moment += 6 + (
                random_.expovariate(1 / 900) if random_.random() < 0.15 else random_.expovariate(1 / 8)
            )


def _hash_trace(seed: int, requests: int) -> Iterator[Record]:
    """Growing conversations behind a few shared heads, as block ids of 512 tokens."""
    random_ = random.Random(seed)
    heads = [list(range(100 * i, 100 * i + size)) for i, size in enumerate((4, 9, 14))]
    fresh, moment = 1000, 0
    live: list[list[int]] = []
    for _ in range(requests):
        moment += int(random_.expovariate(1 / 900))
        if not live or random_.random() < 0.3:
            live.append(list(random_.choice(heads)))
        blocks = random_.choice(live)
        new = random_.randint(1, 4)
        blocks.extend(range(fresh, fresh + new))
        fresh += new
        output = random_.randint(20, 700)
        yield {
            "timestamp": moment,
            "input_length": 512 * len(blocks),
            "output_length": output,
            "hash_ids": list(blocks),
        }
        if len(live) > 40:
            live.pop(0)


def _openai_usage(records: list[Record]) -> None:
    """Fill in the usage a provider with automatic prefix caching would report: whole steps of 128 from 1,024 on."""
    for record, prompt, reusable, output in _counted(records):
        cached = min(reusable, prompt - 1) // 128 * 128
        record["response"]["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": cached if cached >= 1024 else 0},
        }


def _anthropic_usage(records: list[Record]) -> None:
    """Fill in what the provider's rules give at the markers."""
    from simulators.providers.replay import replay
    from simulators.providers.rules import load_rule_book

    traced = _traced(records)
    played = replay(traced.trace, load_rule_book(), traced.log.requests)
    outputs = traced.trace.requests.cached_tokens - traced.trace.requests.prompt_tokens + 1
    for row, request in enumerate(traced.log.requests):
        written = int(played.written_total[row])
        records[request.line - 1]["response"]["usage"] = {
            "input_tokens": int(played.uncached[row]),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": int(played.read[row]),
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": int(outputs[row]),
        }


def _counted(records: list[Record]) -> Iterator[tuple[Record, int, int, int]]:
    """Each record with its prompt tokens, reusable tokens and output tokens, as pcache counts them."""
    from analyzers.reuse import reuse_by_request

    traced = _traced(records)
    reuse = reuse_by_request(traced.trace)
    for row, request in enumerate(traced.log.requests):
        kept = int(traced.trace.requests.cached_tokens[row]) - int(reuse.prompt[row])
        yield records[request.line - 1], int(reuse.prompt[row]), int(reuse.reusable[row]), kept + 1


def _traced(records: list[Record]) -> "TracedLog":
    from analyzers.logs import read_log
    from analyzers.pipeline import trace_log

    draft = FOLDER / "draft.jsonl"
    try:
        _write(draft, records)
        return trace_log(read_log([str(draft)]))
    finally:
        draft.unlink(missing_ok=True)


def _in_time_order(timed: Iterator[tuple[float, Record]], provider: str) -> list[Record]:
    ordered = sorted(timed, key=lambda item: item[0])
    return [
        {"id": f"req-{n:04d}", "timestamp": _stamp(moment), "provider": provider, **record}
        for n, (moment, record) in enumerate(ordered, 1)
    ]


def _write(path: Path, records: list[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def _clock(moment: float) -> str:
    return (
        f"Current date and time: {(START + timedelta(seconds=moment)).strftime('%A, %d %B %Y, %H:%M:%S')} UTC"
    )


def main() -> None:
    """Write every sample anew."""
    healthy = _in_time_order(_support(lambda _: "Shop: Northwind Parts, Europe.", 3, 9), "openai")
    _openai_usage(healthy)
    _write(FOLDER / "healthy_agent.jsonl", healthy)
    clock = _in_time_order(_support(_clock, 4, 9), "openai")
    _openai_usage(clock)
    _write(FOLDER / "support_bot_clock.jsonl", clock)
    shuffled = _in_time_order(_retrieval(5, 24), "openai")
    _openai_usage(shuffled)
    _write(FOLDER / "rag_shuffled.jsonl", shuffled)
    coding = _in_time_order(_coding(6, 4), "anthropic")
    _anthropic_usage(coding)
    _write(FOLDER / "coding_agent_markers.jsonl", coding)
    _write(FOLDER / "hash_trace.jsonl", list(_hash_trace(7, 150)))


if __name__ == "__main__":
    main()
