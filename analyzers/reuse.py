"""How much of the prompts could be reused: exact figures off the prefix tree, under a cache without limits.

Reusable tokens of a prompt are its longest prefix that is also a prefix of an earlier prompt of its namespace.
At block size B only whole blocks count, and at least the last token of a prompt is always computed, so a prompt
of P tokens reuses at most floor((P - 1) / B) blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.hot_prefixes import HotPrefix, hottest_prefixes
from analyzers.trace import MISSING, NO_TIME, Int32, Int64, Names, PrefixTree, Trace

BLOCK_SIZES = (16, 128, 512)
_LEAST_SHARE = 0.005
"""Of the reusable tokens: a prefix that spares less is not listed among the hottest."""
QUANTILES = (0.5, 0.9, 0.99, 1.0)

DEFINITIONS = {
    "reusable_token_ratio": "sum of reusable tokens / sum of prompt tokens over all requests; a token is reusable "
    "when the whole prompt up to it is also the start of an earlier prompt of the same namespace; cache without "
    "limits in size, time or blocks; cold start, nothing left out as warm-up",
    "block_ratio": "as above in whole blocks; at least the last token of a prompt is always computed, so at most "
    "floor((prompt tokens - 1) / block size) blocks of a prompt count; the denominator is all prompt tokens",
    "request_hit_ratio": "requests with at least one reusable block of the smallest block size / all requests",
    "same_conversation": "reusable from an earlier request of the same conversation (the log's session, else "
    "inferred: a request that extends the whole prompt of an earlier one goes on with its conversation); unknown for "
    "block hashes without sessions where a prompt ends inside a block",
    "across_conversations": "reusable, but only from requests of other conversations",
    "seen_elsewhere": "not reusable although the content stood in an earlier prompt of the namespace, behind a "
    "different prefix; counted in stretches of at least 16 tokens of equal lines",
    "new": "all other prompt tokens",
    "reuse_interval": "time since tokens of the reused prefix were last part of a prompt, weighted by tokens",
    "ceiling": "reusable-token ratio of the rows whose log states how many tokens were read from cache; unknown "
    "where the log lacks parts of the prompts that were sent",
}


@dataclass(frozen=True)
class RequestReuse:
    """Per request, int64 tokens; the four classes add up to `prompt`. `seen_elsewhere` and `new` are -1 where the
    trace came as block hashes (what stood behind another prefix cannot be told from them); `same_conversation` and
    `across_conversations` are -1 where such a trace names no sessions and a prompt ends inside a block (whether a
    later one goes on with it cannot be told). `source` is the earliest request with the reused prefix (int32, -1
    for none), `conversation` int32."""

    prompt: Int64
    reusable: Int64
    same_conversation: Int64
    across_conversations: Int64
    seen_elsewhere: Int64
    new: Int64
    source: Int32
    conversation: Int32


@dataclass(frozen=True)
class BlockReuse:
    """Reusable tokens in whole blocks, with the last-token rule."""

    block_size: int
    reusable_tokens: int
    ratio: float | None


@dataclass(frozen=True)
class Classes:
    """Every prompt token in one of four classes; None where the trace cannot tell the first two, or the last two, apart."""

    same_conversation: int | None
    across_conversations: int | None
    seen_elsewhere: int | None
    new: int | None


@dataclass(frozen=True)
class Quantiles:
    """Value at p50, p90, p99 and the largest."""

    p50: float
    p90: float
    p99: float
    largest: float


@dataclass(frozen=True)
class GroupReuse:
    """One line of a table by model, namespace, route ..."""

    label: str
    requests: int
    prompt_tokens: int
    reusable_tokens: int
    ratio: float | None
    logged_read_ratio: float | None
    """Read / prompt tokens of the rows that state both; None where none does."""


@dataclass(frozen=True)
class LoggedCache:
    """What the log says its cache gave, beside what was possible on the same rows."""

    known_rows: int
    unknown_rows: int
    prompt_tokens: int
    read_tokens: int
    read_ratio: float | None
    ceiling_ratio: float | None
    share_of_possible: float | None


@dataclass(frozen=True)
class CountError:
    """Our token counts against the logged prompt tokens, over the rows that state them.

    `scale` = logged / counted over all; after scaling, the error of a single row is `median_error` in the
    middle and `p90_error` for the worst tenth (shares of the logged count).
    """

    rows: int
    scale: float
    median_error: float
    p90_error: float


@dataclass(frozen=True)
class Reuse:
    """The answer of `pcache analyze`. Ratios are None where there is nothing to divide by."""

    requests: int
    requests_without_content: int
    prompt_tokens: int
    output_tokens: int
    output_unknown: int
    """Requests whose output tokens are not known."""
    reusable_tokens: int
    reusable_token_ratio: float | None
    blocks: tuple[BlockReuse, ...]
    request_hit_ratio: float | None
    classes: Classes
    conversations: int
    conversations_inferred: bool
    prefix_length: Quantiles | None
    reuse_interval_s: Quantiles | None
    hottest: tuple[HotPrefix, ...]
    groups: dict[str, tuple[GroupReuse, ...]]
    prompts_incomplete: bool
    """Whether the log lacks parts of the prompts that were sent, so that logged figures count more."""
    logged: LoggedCache
    count_error: CountError | None


def reusable_depth(tree: PrefixTree, leaf: Int32) -> tuple[Int64, Int32]:
    """Depth of the longest prefix of each prompt that an earlier prompt has too (int64), and the earliest request
    that has it (int32, -1 for none)."""
    from analyzers import kernels

    first = kernels.first_prompt_of_nodes(tree.parent, leaf)
    depth, source = kernels.reused_depth(tree.parent, tree.depth_end, first, leaf)
    return depth, source


def reuse_by_request(trace: Trace) -> RequestReuse:
    """The reuse of every request, exact, from the prefix tree."""
    from analyzers import kernels

    tree, table = trace.tree, trace.requests
    prompt = table.prompt_tokens
    depth, source = reusable_depth(tree, table.leaf)
    reusable = np.minimum(depth, prompt)
    conversation = conversations(trace)
    within = kernels.reused_depth_within(tree.parent, tree.depth_end, table.leaf, conversation, len(tree))
    same = np.minimum(within, prompt)
    known = trace.info.unit == 1 and bool((table.seen_elsewhere != MISSING).all())
    told_apart = not ((table.session.codes < 0) & (table.leaf >= 0) & (prompt % trace.info.unit != 0)).any()
    missing = np.full(len(trace), MISSING, np.int64)
    return RequestReuse(
        prompt=prompt,
        reusable=reusable,
        same_conversation=same if told_apart else missing,
        across_conversations=reusable - same if told_apart else missing,
        seen_elsewhere=table.seen_elsewhere if known else missing,
        new=prompt - reusable - table.seen_elsewhere if known else missing,
        source=source,
        conversation=conversation,
    )


def conversations(trace: Trace) -> Int32:
    """The conversation of each request (int32): the log's session where it names one, else inferred."""
    from analyzers import kernels

    table = trace.requests
    inferred: Int32 = kernels.inferred_conversations(
        trace.tree.parent, table.leaf, np.full(len(trace.tree), -1, np.int32)
    )
    named = table.session.codes >= 0
    return np.where(named, table.session.codes, inferred + len(table.session.values)).astype(np.int32)


def block_reuse(reusable: Int64, prompt: Int64, block_size: int) -> Int64:
    """Reusable tokens in whole blocks with the last-token rule, per request (int64)."""
    blocks: Int64 = np.minimum(reusable // block_size, np.maximum(prompt - 1, 0) // block_size) * block_size
    return blocks


def analyze_reuse(
    trace: Trace, by_request: RequestReuse | None = None, group_by: Sequence[tuple[str, Names]] = ()
) -> Reuse:
    """All figures of the reuse report. `group_by` adds tables to those by namespace, model and route."""
    reuse = by_request or reuse_by_request(trace)
    table = trace.requests
    total, reusable = int(reuse.prompt.sum()), int(reuse.reusable.sum())
    sizes = _block_sizes(trace.info.unit)
    blocks = {size: block_reuse(reuse.reusable, reuse.prompt, size) for size in sizes}
    with_content = table.leaf >= 0
    named = [
        ("namespace", Names(table.namespace, list(trace.info.namespaces))),
        ("model", table.model),
        ("tenant", table.tenant),
        ("route", table.route),
        *group_by,
    ]
    return Reuse(
        requests=len(trace),
        requests_without_content=int((~with_content).sum()),
        prompt_tokens=total,
        output_tokens=int(table.output_tokens[table.output_tokens != MISSING].sum()),
        output_unknown=int((table.output_tokens == MISSING).sum()),
        reusable_tokens=reusable,
        reusable_token_ratio=_ratio(reusable, total),
        blocks=tuple(BlockReuse(b, int(v.sum()), _ratio(int(v.sum()), total)) for b, v in blocks.items()),
        request_hit_ratio=_ratio(int((blocks[sizes[0]] > 0).sum()), int(with_content.sum())),
        classes=Classes(
            same_conversation=_total(reuse.same_conversation),
            across_conversations=_total(reuse.across_conversations),
            seen_elsewhere=_total(reuse.seen_elsewhere),
            new=_total(reuse.new),
        ),
        conversations=len(np.unique(reuse.conversation)),
        conversations_inferred=bool((table.session.codes < 0).any()),
        prefix_length=_quantiles(reuse.reusable[with_content]),
        reuse_interval_s=_reuse_intervals(trace),
        hottest=tuple(h for h in hottest_prefixes(trace) if h.saved_tokens >= _LEAST_SHARE * reusable),
        groups={label: _group(trace, reuse, names) for label, names in named if names.values},
        prompts_incomplete=trace.info.prompts_incomplete,
        logged=_logged(trace, reuse),
        count_error=_count_error(trace),
    )


def _block_sizes(unit: int) -> tuple[int, ...]:
    """The sizes that can be told exactly: multiples of the block length of a hash trace."""
    sizes = tuple(b for b in BLOCK_SIZES if b % unit == 0)
    return sizes or (unit,)


def _total(values: Int64) -> int | None:
    return None if (values == MISSING).any() else int(values.sum())


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _quantiles(values: Int64, weights: Int64 | None = None) -> Quantiles | None:
    """Of the values, each counted by its weight: the least value with at least that share at or below it."""
    if len(values) == 0:
        return None
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(np.ones(len(values), np.int64) if weights is None else weights[order])
    if mass[-1] == 0:
        return None
    at = np.searchsorted(mass, [max(1, int(np.ceil(q * int(mass[-1])))) for q in QUANTILES])
    return Quantiles(*(float(v) for v in values[order][at]))


def _reuse_intervals(trace: Trace) -> Quantiles | None:
    from analyzers import kernels

    table, tree = trace.requests, trace.tree
    if (table.time_ns == NO_TIME).any():
        return None
    interval, tokens = kernels.reuse_intervals(
        tree.parent, tree.depth_start, tree.depth_end, table.leaf, table.prompt_tokens, table.time_ns
    )
    found = _quantiles(interval, tokens)
    if found is None:
        return None
    return Quantiles(*(value / 1e9 for value in (found.p50, found.p90, found.p99, found.largest)))


def _group(trace: Trace, reuse: RequestReuse, names: Names) -> tuple[GroupReuse, ...]:
    """One line a value, most prompt tokens first; requests without a value stand under "(unknown)"."""
    labels = [*names.values, "(unknown)"]
    codes = np.where(names.codes < 0, len(names.values), names.codes)
    usage = trace.requests
    rows = []
    stated = (usage.usage_read != MISSING) & (usage.usage_prompt != MISSING)

    def total(values: Int64) -> Int64:
        return np.bincount(codes, weights=values, minlength=len(labels)).astype(np.int64)

    requests = np.bincount(codes, minlength=len(labels))
    prompt, reusable = total(reuse.prompt), total(reuse.reusable)
    read = total(np.where(stated, usage.usage_read, 0))
    logged = total(np.where(stated, usage.usage_prompt, 0))
    for i in np.argsort(-prompt, kind="stable").tolist():
        if requests[i]:
            rows.append(
                GroupReuse(
                    label=labels[i],
                    requests=int(requests[i]),
                    prompt_tokens=int(prompt[i]),
                    reusable_tokens=int(reusable[i]),
                    ratio=_ratio(int(reusable[i]), int(prompt[i])),
                    logged_read_ratio=_ratio(int(read[i]), int(logged[i])),
                )
            )
    return tuple(rows)


def _logged(trace: Trace, reuse: RequestReuse) -> LoggedCache:
    table = trace.requests
    known = (table.usage_read != MISSING) & (table.usage_prompt != MISSING)
    prompt, read = int(table.usage_prompt[known].sum()), int(table.usage_read[known].sum())
    counted = known & (reuse.prompt > 0)
    ceiling = None
    if not trace.info.prompts_incomplete:
        ceiling = _ratio(int(reuse.reusable[counted].sum()), int(reuse.prompt[counted].sum()))
    ratio = _ratio(read, prompt)
    return LoggedCache(
        known_rows=int(known.sum()),
        unknown_rows=int((~known).sum()),
        prompt_tokens=prompt,
        read_tokens=read,
        read_ratio=ratio,
        ceiling_ratio=ceiling,
        share_of_possible=ratio / ceiling if ratio is not None and ceiling else None,
    )


def _count_error(trace: Trace) -> CountError | None:
    table = trace.requests
    rows = (table.usage_prompt > 0) & (table.prompt_tokens > 0) & (table.leaf >= 0)
    if trace.info.unit > 1 or trace.info.prompts_incomplete or not rows.any():
        return None
    logged, counted = table.usage_prompt[rows], table.prompt_tokens[rows]
    scale = float(logged.sum() / counted.sum())
    error = np.sort(np.abs(counted * scale - logged) / logged)
    return CountError(
        rows=len(error),
        scale=scale,
        median_error=float(error[(len(error) - 1) // 2]),
        p90_error=float(error[int(np.ceil(0.9 * len(error))) - 1]),
    )
