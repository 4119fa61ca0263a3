"""Other settings for the same log: the provider's automatic marker, better markers, another lifetime or model."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analyzers.errors import UsageError
from analyzers.trace import Trace
from simulators.providers.prompts import Marker, MarkerPolicy
from simulators.providers.rules import CacheRules, Matching, lifetime_seconds


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Changes to play. `automatic`: one marker at the end of every request, none elsewhere. `best_markers`:
    up to the provider's limit, placed with hindsight where later requests part from this one: what no placement
    can beat by much. `ttl_s`: this lifetime for every marker. `model`: the rules of this model. `fixed_layout`: the
    trace is of the requests with their layout fixed, so logged reads and writes say nothing about entries."""

    automatic: bool = False
    best_markers: bool = False
    ttl_s: int | None = None
    model: str | None = None
    fixed_layout: bool = False

    def changed(self, rules: CacheRules) -> CacheRules:
        """The rules with the lifetime as default. Raises UsageError for one the provider does not know."""
        if self.ttl_s is None:
            return rules
        if self.ttl_s not in rules.lifetimes:
            known = ", ".join(f"{ttl} s" for ttl in rules.lifetimes)
            raise UsageError(
                f"{rules.title} has no lifetime of {self.ttl_s} s for {rules.model}; it has {known}"
            )
        first = {self.ttl_s: rules.lifetimes[self.ttl_s]}
        return replace(rules, lifetimes={**first, **rules.lifetimes})

    def marker_policy(self, trace: Trace, rules: CacheRules) -> MarkerPolicy | None:
        """How to change the markers of each request; None: not at all."""
        if rules.matching is not Matching.BREAKPOINTS:
            return None
        lifetime = rules.default_lifetime
        if self.best_markers:
            return _Hindsight(trace, rules.marker_limit or 4, lifetime)
        if self.automatic:
            return lambda row, block_ends, markers: [Marker(block_ends[-1], lifetime)] if block_ends else []
        if self.ttl_s is not None:
            return lambda row, block_ends, markers: [Marker(marker.depth, lifetime) for marker in markers]
        return None


AS_LOGGED = WhatIf()


def parse_what_if(words: Sequence[str]) -> WhatIf:
    """`automatic`, `markers=best`, `ttl=1h`, `layout=fixed`, `model=NAME`, together where they make sense.

    Whoever plays `layout=fixed` gives the trace of the fixed requests. Raises UsageError.
    """
    asked = AS_LOGGED
    for word in words:
        name, _, value = word.partition("=")
        if word == "automatic":
            asked = replace(asked, automatic=True)
        elif word == "markers=best":
            asked = replace(asked, best_markers=True)
        elif word == "layout=fixed":
            asked = replace(asked, fixed_layout=True)
        elif name == "ttl" and lifetime_seconds(value):
            asked = replace(asked, ttl_s=lifetime_seconds(value))
        elif name == "model" and value:
            asked = replace(asked, model=value)
        else:
            raise UsageError(
                f"'{word}' is no what-if; write automatic, markers=best, ttl=1h, layout=fixed or model=NAME"
            )
    if asked.automatic and asked.best_markers:
        raise UsageError("automatic and markers=best are two placements of markers; choose one")
    return asked


class _Hindsight:
    """A marker where an earlier one stood, to read it, and markers where later requests will part from this one,
    the most rereadable tokens first."""

    def __init__(self, trace: Trace, limit: int, ttl_s: int) -> None:
        self._parents = trace.tree.parent.tolist()
        self._ends = trace.tree.depth_end.tolist()
        self._leaves = trace.requests.leaf.tolist()
        self._limit = limit
        self._ttl_s = ttl_s
        self._to_come = [0] * len(self._parents)
        self._placed: set[tuple[int, int]] = set()
        for leaf in self._leaves:
            for node in self._path(leaf):
                self._to_come[node] += 1

    def __call__(self, row: int, block_ends: Sequence[int], markers: Sequence[Marker]) -> list[Marker]:
        path = self._path(self._leaves[row])[::-1]
        ends = [self._ends[node] for node in path]
        shared: list[tuple[int, int]] = []
        for node, end in zip(path, ends, strict=True):
            self._to_come[node] -= 1
            place = bisect_right(block_ends, end)
            if self._to_come[node] and place:
                shared.append((block_ends[place - 1], self._to_come[node]))
        named = {depth: (path[bisect_left(ends, depth)], depth) for depth in block_ends}
        to_read = [depth for depth in block_ends if named[depth] in self._placed][-1:]
        chosen = {*to_read, *_most_reread(shared, self._limit - len(to_read))}
        self._placed.update(named[depth] for depth in chosen)
        return [Marker(depth, self._ttl_s) for depth in sorted(chosen)]

    def _path(self, leaf: int) -> list[int]:
        nodes = []
        while leaf >= 0:
            nodes.append(leaf)
            leaf = self._parents[leaf]
        return nodes


def _most_reread(shared: Sequence[tuple[int, int]], limit: int) -> list[int]:
    """Up to `limit` depths that let later requests read most; `shared` = (depth, requests to come that share it)."""
    sharing: dict[int, int] = {}
    for depth, requests in shared:
        sharing[depth] = max(sharing.get(depth, 0), requests)
    depths = sorted(sharing)
    chosen: list[int] = []
    while len(chosen) < limit and len(chosen) < len(depths):
        best = max(
            (depth for depth in depths if depth not in chosen), key=lambda d: _reread([*chosen, d], sharing)
        )
        if _reread([*chosen, best], sharing) <= _reread(chosen, sharing):
            break
        chosen.append(best)
    return sorted(chosen)


def _reread(chosen: Sequence[int], sharing: dict[int, int]) -> int:
    total = before = 0
    for depth in sorted(chosen):
        total += (depth - before) * sharing[depth]
        before = depth
    return total
