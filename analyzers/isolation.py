"""Who shares with whom: what each choice of namespace costs, what requests could have reused across namespaces, and
which shared prefixes cross a tenant's or a user's boundary."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.hot_prefixes import ending
from analyzers.namespaces import field_values, number_namespaces
from analyzers.pipeline import TracedLog
from analyzers.prefix_tree import build_prefix_tree
from analyzers.reuse import reusable_depth
from analyzers.trace import MISSING, Int64, Names

_CHOICES = (
    (),
    ("model",),
    ("model", "tenant"),
    ("model", "tenant", "user"),
    ("model", "tenant", "user", "session"),
)
BOUNDARIES = ("tenant", "workspace", "user")
"""Fields across which not everything may be seen."""
LEAST_CROSSING = 16
"""Tokens of a shared prefix below which nothing of one party is in it: a block at the smallest size of engines."""
MOST_CROSSINGS = 20


@dataclass(frozen=True)
class Isolation:
    """`tokens` (int64 a request): beyond the prefix seen in its own namespace, what the earliest request of any
    namespace with the longest common prefix has too. `by_field`: those tokens by the fields in which the two differ.
    """

    tokens: Int64
    by_field: dict[str, int]


@dataclass(frozen=True, slots=True)
class NamespaceChoice:
    """What requests could reuse if those that agree in `fields` shared a cache. `cost_tokens`: reusable tokens
    fewer than when all share."""

    fields: tuple[str, ...]
    namespaces: int
    reusable_tokens: int
    cost_tokens: int
    current: bool


@dataclass(frozen=True, slots=True)
class Crossing:
    """A prefix by which a request would read what another tenant (or user) sent and its own never had.

    `requests` such requests, which would read `tokens` tokens in all; `depth` is the prefix's length, `path` the
    block it ends with (or inside, see `inside`). `shared_by` of the `parties` that the namespace has begin a prompt
    with it: where that is not all of them, its content varies by party, so it is not common text.
    """

    boundary: str
    depth: int
    path: str | None
    inside: bool
    requests: int
    tokens: int
    shared_by: int
    parties: int
    first_request: str

    @property
    def common(self) -> bool:
        """Whether every party has it: text of the application, not of one party."""
        return self.shared_by == self.parties


def namespace_choices(traced: TracedLog) -> tuple[NamespaceChoice, ...]:
    """The cost of each choice of namespace that this log can tell apart, the widest first."""
    requests, info = traced.log.requests, traced.trace.info
    named = {"model"} | {
        name
        for name in ("tenant", "user", "session")
        if any(getattr(r.identity, name) is not None for r in requests)
    }
    wanted = [
        tuple(name for name in fields if name in named) for fields in (*_CHOICES, info.namespace_fields)
    ]
    choices = list(dict.fromkeys([*wanted[:-1], info.namespace_fields]))
    found: list[NamespaceChoice] = []
    for fields in choices:
        codes, labels = number_namespaces(traced.rows, fields)
        built = build_prefix_tree(traced.sequences, codes)
        depth, _ = reusable_depth(built.tree, built.leaf)
        tokens = int(np.minimum(depth * info.unit, traced.trace.requests.prompt_tokens).sum())
        widest = found[0].reusable_tokens if found else tokens
        current = fields == info.namespace_fields
        found.append(NamespaceChoice(fields, len(labels), tokens, widest - tokens, current))
    return tuple(found)


def boundary_crossings(traced: TracedLog) -> tuple[Crossing, ...]:
    """Prefixes that cross a boundary inside the current namespaces: those of content that varies by party first,
    then by tokens. Empty where the namespaces follow every boundary that the log names."""
    info = traced.trace.info
    found: list[Crossing] = []
    for boundary in BOUNDARIES:
        if boundary in info.namespace_fields:
            continue
        party = field_values(traced.rows, boundary)
        if len(party.values) > 1:
            found += _crossings(traced, boundary, party)
    found.sort(key=lambda crossing: (crossing.common, -crossing.tokens))
    return tuple(found[:MOST_CROSSINGS])


def _crossings(traced: TracedLog, boundary: str, party: Names) -> Sequence[Crossing]:
    trace = traced.trace
    parent, ends = trace.tree.parent.tolist(), trace.tree.depth_end.tolist()
    leaves, namespace = trace.requests.leaf.tolist(), trace.requests.namespace.tolist()
    visitors: dict[int, set[int]] = {}
    in_namespace: dict[int, set[int]] = {}
    crossed: dict[int, list[tuple[int, int]]] = {}
    for row, (leaf, own) in enumerate(zip(leaves, party.codes.tolist(), strict=True)):
        if own == MISSING:
            continue
        in_namespace.setdefault(namespace[row], set()).add(own)
        node, deepest, known = leaf, -1, 0
        path: list[int] = []
        while node >= 0:
            seen = visitors.get(node)
            if seen and deepest < 0:
                deepest = node
            if seen and own in seen:
                known = ends[node]
                break  # its own party was here, and so at every node above
            path.append(node)
            node = parent[node]
        for passed in path:
            visitors.setdefault(passed, set()).add(own)
        if deepest >= 0 and (ends[deepest] - known) * trace.info.unit >= LEAST_CROSSING:
            crossed.setdefault(deepest, []).append((row, (ends[deepest] - known) * trace.info.unit))
    found: list[Crossing] = []
    for node, rows in crossed.items():
        first = int(trace.tree.first_request[node])
        depth = ends[node] * trace.info.unit
        path_at, inside = ending(trace, first, depth)
        found.append(
            Crossing(
                boundary=boundary,
                depth=depth,
                path=path_at,
                inside=inside,
                requests=len(rows),
                tokens=sum(tokens for _, tokens in rows),
                shared_by=len(visitors[node]),
                parties=len(in_namespace[namespace[first]]),
                first_request=trace.requests.request_id[first],
            )
        )
    return found


def isolated_tokens(traced: TracedLog, seen: Int64) -> Isolation:
    """Compare the prompts across namespaces. `seen` (int64) is each prompt's seen prefix in its own namespace."""
    from analyzers import kernels

    info, requests = traced.trace.info, traced.trace.requests
    merged = build_prefix_tree(traced.sequences, np.zeros(len(requests), np.int32))
    first = kernels.first_prompt_of_nodes(merged.tree.parent, merged.leaf)
    depth, source = kernels.reused_depth(merged.tree.parent, merged.tree.depth_end, first, merged.leaf)
    shared = np.minimum(depth * info.unit, requests.prompt_tokens)
    tokens = np.maximum(shared - seen, 0)
    by_field: dict[str, int] = {}
    codes = {name: field_values(traced.rows, name).codes for name in info.namespace_fields}
    for request in np.flatnonzero(tokens).tolist():
        other = source[request]
        key = " + ".join(name for name, code in codes.items() if code[request] != code[other])
        by_field[key] = by_field.get(key, 0) + int(tokens[request])
    return Isolation(tokens, dict(sorted(by_field.items(), key=lambda item: (-item[1], item[0]))))
