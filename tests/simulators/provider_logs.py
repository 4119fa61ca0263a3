"""Small logs written as blocks, for the tests of providers' caches.

A block is a word; equal words are equal text. `T…` blocks are tools, `S…` system blocks, the others messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analyzers.trace import MISSING, Names, Ragged, Trace
from tests.trace_builder import trace_from_tokens


@dataclass
class Sent:
    """A request: its blocks, the lifetime of the marker on some of them (block index -> seconds), its times in
    seconds, and (prompt, read, written) as logged. `sizes` in tokens, 1000 where not given."""

    blocks: str
    marked: Mapping[int, int] = field(default_factory=dict)
    at: float = 0.0
    first_token: float | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    usage: tuple[int, int | None, int | None] | None = None
    answer: str | None = None


def trace_of(requests: Sequence[Sent], model: str = "claude-opus-5", provider: str = "anthropic") -> Trace:
    """The trace of these requests, in the order given."""
    ids: dict[tuple[str, int], list[int]] = {}

    def tokens(word: str, sizes: Mapping[str, int]) -> list[int]:
        size = sizes.get(word, 1000)
        fresh = range(sum(map(len, ids.values())), sum(map(len, ids.values())) + size)
        return ids.setdefault((word, size), list(fresh))

    prompts, ends, paths = [], [], []
    for sent in requests:
        prompt: list[int] = []
        ends.append([])
        messages = 0
        for word in sent.blocks.split():
            prompt += tokens(word, sent.sizes)
            ends[-1].append(len(prompt))
            if word[0] in "TS":
                paths.append("tools" if word[0] == "T" else "system[0]")
            else:
                paths.append(f"messages[{messages}].content[0]")
                messages += 1
        prompts.append(prompt)
    outputs = [[*tokens(sent.answer, sent.sizes), 0] if sent.answer else [] for sent in requests]
    trace = trace_from_tokens(
        prompts,
        outputs if any(outputs) else None,
        times=[sent.at for sent in requests],
        models=[model] * len(requests),
        boundaries=ends,
    )
    first = [MISSING if s.first_token is None else round(s.first_token * 1e9) for s in requests]
    table = replace(
        trace.requests,
        first_token_ns=np.where(np.array(first) < 0, trace.requests.first_token_ns, first).astype(np.int64),
        provider=Names(np.zeros(len(requests), np.int32), [provider]),
        usage_prompt=_column([s.usage[0] if s.usage else None for s in requests]),
        usage_read=_column([s.usage[1] if s.usage else None for s in requests]),
        usage_written=_column([s.usage[2] if s.usage else None for s in requests]),
    )
    marked = [[(ends[r][b], ttl) for b, ttl in sorted(s.marked.items())] for r, s in enumerate(requests)]
    return replace(
        trace,
        requests=table,
        paths=paths,
        markers=_ragged([[depth for depth, _ in row] for row in marked]),
        marker_ttl_s=_ragged([[ttl for _, ttl in row] for row in marked]),
    )


def _column(values: Sequence[int | None]) -> np.ndarray:
    return np.array([MISSING if value is None else value for value in values], np.int64)


def _ragged(lists: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(v) for v in lists])]).astype(np.int64)
    return Ragged(offsets, np.array([x for v in lists for x in v], np.int64))
