"""Build a Trace from token ids written out in a test."""

from collections.abc import Hashable, Sequence

import numpy as np

from analyzers.prefix_tree import TokenRuns, build_prefix_tree
from analyzers.trace import MISSING, NO_TIME, Int64, Names, Ragged, RequestTable, Trace, TraceInfo

Tokens = Sequence[int]


def trace_from_tokens(
    prompts: Sequence[Tokens],
    outputs: Sequence[Tokens] | None = None,
    times: Sequence[float] | None = None,
    namespaces: Sequence[Hashable] | None = None,
    *,
    first_token_times: Sequence[float] | None = None,
    end_times: Sequence[float] | None = None,
    sessions: Sequence[str | None] | None = None,
    tenants: Sequence[str | None] | None = None,
    models: Sequence[str | None] | None = None,
    request_ids: Sequence[str] | None = None,
    prompt_lengths: Sequence[int] | None = None,
    output_lengths: Sequence[int] | None = None,
    unit: int = 1,
    boundaries: Sequence[Sequence[int]] | None = None,
) -> Trace:
    """A trace of these prompts in the order given; times are seconds, None where the log has none.

    With `unit` above 1 each id stands for that many tokens and `prompt_lengths` says how many tokens a prompt
    really has. `outputs` are the sampled ids; the last of them never enters the cache. `output_lengths` is for
    outputs of which only the length is known.
    """
    count = len(prompts)
    labels = list(dict.fromkeys(namespaces or ["all"]))
    namespace = np.array([labels.index(n) for n in namespaces or ["all"] * count], np.int32)
    kept = [list(output[:-1]) for output in outputs] if outputs is not None else [[] for _ in prompts]

    pool: list[int] = []
    start: list[int] = []
    length: list[int] = []
    for prompt, output in zip(prompts, kept, strict=True):
        for ids in (prompt, output):
            start.append(len(pool))
            length.append(len(ids))
            pool.extend(ids)
    # Two sequences a request: the prompt, then prompt and kept output.
    runs = np.array([[2 * r, 2 * r, 2 * r + 1] for r in range(count)], np.int64).reshape(-1)
    offsets = np.array([[3 * r, 3 * r + 1] for r in range(count)] + [[3 * count, 0]], np.int64).reshape(-1)
    sequences = TokenRuns(
        np.array(pool, np.uint32),
        np.array(start, np.int64),
        np.array(length, np.int64),
        offsets[: 2 * count + 1],
        runs,
    )
    after = np.full(2 * count, -1, np.int32)
    after[1::2] = np.arange(0, 2 * count, 2)
    built = build_prefix_tree(
        sequences, np.repeat(namespace, 2), np.repeat(np.arange(count, dtype=np.int32), 2), after
    )
    if unit != 1:
        built.tree.depth_start[:] *= unit
        built.tree.depth_end[:] *= unit

    lengths = np.array([len(p) * unit for p in prompts], np.int64)
    output_tokens = np.array([len(o) for o in outputs], np.int64) if outputs is not None else None
    if output_lengths is not None:
        output_tokens = np.array(output_lengths, np.int64)
    missing = np.full(count, MISSING, np.int64)
    requests = RequestTable(
        request_id=list(request_ids) if request_ids else [f"r{r + 1}" for r in range(count)],
        time_ns=_nanoseconds(times, count),
        first_token_ns=_nanoseconds(first_token_times, count),
        end_ns=_nanoseconds(end_times, count),
        namespace=namespace,
        prompt_tokens=np.array(prompt_lengths, np.int64) if prompt_lengths is not None else lengths,
        output_tokens=missing.copy() if output_tokens is None else output_tokens,
        leaf=built.leaf[0::2].copy(),
        cached_leaf=built.leaf[1::2].copy(),
        cached_tokens=lengths + np.array([len(o) * unit for o in kept], np.int64),
        seen_elsewhere=missing.copy(),
        usage_prompt=missing.copy(),
        usage_read=missing.copy(),
        usage_written=missing.copy(),
        usage_output=missing.copy(),
        model=_names(models, count),
        provider=_names(None, count),
        session=_names(sessions, count),
        tenant=_names(tenants, count),
        route=_names(None, count),
        file=_names(["test.jsonl"] * count, count),
        line=np.arange(1, count + 1, dtype=np.int64),
    )
    info = TraceInfo(
        tokenizer="none",
        tokenizer_note="the test gives token ids",
        rendering="token ids as given",
        namespace_fields=("tenant",),
        namespaces=tuple(f"tenant={label}" for label in labels),
        unit=unit,
    )
    ends = [list(b) for b in boundaries] if boundaries is not None else [[] for _ in prompts]
    depths = _ragged(ends)
    empty = _ragged([[] for _ in prompts])
    numbers = Ragged(depths.offsets, np.arange(len(depths.values), dtype=np.int64))
    paths = [f"messages[{n}]" for n in range(len(depths.values))]
    return Trace(info, requests, built.tree, depths, numbers, empty, empty, empty, empty, paths)


def _nanoseconds(times: Sequence[float] | None, count: int) -> Int64:
    if times is None:
        return np.full(count, NO_TIME, np.int64)
    return np.array([round(t * 1e9) for t in times], np.int64)


def _names(values: Sequence[str | None] | None, count: int) -> Names:
    if values is None:
        return Names(np.full(count, -1, np.int32), [])
    known = [v for v in dict.fromkeys(values) if v is not None]
    return Names(np.array([-1 if v is None else known.index(v) for v in values], np.int32), known)


def _ragged(lists: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(v) for v in lists])]).astype(np.int64)
    return Ragged(offsets, np.array([x for v in lists for x in v], np.int64))
