"""Misses that the prompt's text does not explain: an equal prefix was in the cache, and the log shows no read.

Each gets a cause by evidence, in this order: the entry could not be read yet; the recorded prefix hashes differ;
a parameter, a routing key, an upstream differs and requests that agree in it do hit; the entry was older than its
lifetime; no entry ends where the provider looks for one; else the provider's side, or unknown.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analyzers.divergences import Divergences
from analyzers.pipeline import TracedLog
from analyzers.trace import Int64
from analyzers.usage_record import UsageRecord

EXACT_LEAST = 128
"""Tokens from which a shortfall against what was written counts: providers round hits down by up to 128."""
ESTIMATED_LEAST = 1024
IDLE_UNSTATED_S = 600
"""Idle time from which expiry is the likely cause where a provider states no lifetime (5 to 10 minutes, sometimes
longer: OpenAI documentation, November 2026)."""
LOOKBACK_BLOCKS = 20
"""Blocks before a marker that Anthropic checks for an entry (documentation, August 2026)."""
ASKING = 4
"""Tokens at the end of a prompt that ask for the answer and do not return in the next prompt."""
COLD_S = 1.0
"""Without a logged first token, requests this close together are taken to overlap."""

_ROUTING = ("upstream", "region", "deployment", "endpoint", "replica", "worker", "host", "backend", "router")
_MARKERS = ("cache_control", "prompt_cache_options", "prompt_cache_retention")
"""Parameters that say what to keep, and no part of what is kept."""
_ACCOUNT = ("account", "api_key", "organization", "project", "key_id")


class MissCause(StrEnum):
    CONCURRENT = "concurrent"
    HASH_CHANGED = "prefix hash changed"
    PARAMETER = "parameter"
    CACHE_KEY = "cache key"
    UPSTREAM = "upstream"
    ACCOUNT = "account"
    EXPIRED = "expired"
    LOOKBACK = "lookback"
    VOLATILE_MARKER = "volatile marker"
    NO_MARKER = "no marker"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Miss:
    """A request that read less than an earlier one had left in the cache, with an equal prefix.

    `request` and `against` are rows. `expected` tokens could have been read, `lost` = expected - read; `estimated`
    where they follow from token counts rather than from logged writes. `gap_s` since the prefix was last used,
    None where times are missing; `ttl_s` the lifetime of the entry, None where nothing states it.
    `name`, `was`, `now` say what differs (a parameter, a label, a hash). `expired_too`: the gap alone would have
    been enough.
    """

    request: int
    against: int
    expected: int
    lost: int
    estimated: bool
    cause: MissCause
    gap_s: float | None = None
    ttl_s: int | None = None
    name: str = ""
    was: str = ""
    now: str = ""
    expired_too: bool = False
    blocks: int = 0
    depth: int = 0
    """Tokens of our count up to where the prefixes are equal."""


def find_misses(traced: TracedLog, usage: UsageRecord, divergences: Divergences) -> tuple[Miss, ...]:
    """The misses of a log that no divergence explains, in time order."""
    return tuple(_Search(traced, usage, divergences).misses())


class _Search:
    def __init__(self, traced: TracedLog, usage: UsageRecord, divergences: Divergences) -> None:
        self.traced, self.usage, self.divergences = traced, usage, divergences
        self.table = traced.trace.requests
        self.requests = traced.log.requests
        self._within: dict[str, Int64] = {}
        self._values: dict[str, list[str]] = {}
        self.names = sorted(
            {name for r in self.requests for name, _ in r.parameters}
            | {name for r in self.requests for name, _ in r.identity.labels}
        )
        self.names = [name for name in self.names if not name.startswith(_MARKERS)]

    def misses(self) -> Iterator[Miss]:
        from analyzers import kernels

        tree, leaf = self.traced.trace.tree, self.table.leaf
        first = kernels.first_prompt_of_nodes(tree.parent, leaf)
        _, source = kernels.reused_depth(tree.parent, tree.depth_end, first, leaf)
        latest = kernels.latest_with_prefix(tree.parent, leaf, first)
        broken = {d.request for d in self.divergences.found}
        with_content = self.table.prompt_tokens > 0
        if self.traced.trace.info.unit > 1:
            return
        known = (self.usage.read >= 0) & (self.usage.prompt > 0)
        last: dict[tuple[int, int], int] = {}
        for row in range(len(self.requests)):
            space = (int(self.table.namespace[row]), int(self.table.session.codes[row]))
            if with_content[row]:
                if known[row] and row not in broken and latest[row] >= 0:
                    miss = self._with_content(row, int(source[row]), int(latest[row]))
                    if miss is not None:
                        yield miss
            elif known[row]:
                if space in last:
                    miss = self._figures_only(row, last[space], space)
                    if miss is not None:
                        yield miss
                last[space] = row

    # -- with prompts ------------------------------------------------------------------------------------------

    def _with_content(self, row: int, source: int, latest: int) -> Miss | None:
        depth = int(self.divergences.reusable[row])
        usage = self.usage
        against = self._ready(row, latest, source)
        concurrent = against is None
        against = latest if against is None else against
        expected, estimated, cause = self._expected(row, against, depth)
        read = int(usage.read[row])
        stated = usage.cached[against] > 0 and not estimated
        least = max(EXACT_LEAST, expected // 50) if stated else max(ESTIMATED_LEAST, expected // 4)
        if cause is None and expected - read < least:
            return None
        if cause is not None and expected - read < ESTIMATED_LEAST:
            return None

        def miss(found: MissCause, **details: object) -> Miss:
            return Miss(
                row,
                against,
                expected,
                expected - read,
                estimated,
                found,
                gap_s=self._gap(row, latest),
                ttl_s=self._ttl(against),
                depth=depth,
                **details,  # type: ignore[arg-type]
            )

        if concurrent:
            return miss(MissCause.CONCURRENT)
        for name, kind in self._differing(row, against):
            within = int(self._depth_within(name)[row] * usage.scale[row])
            if within <= read + least and within < expected - least // 2:
                was, now = self._value(name)[against], self._value(name)[row]
                return miss(kind, name=name, was=was, now=now)
        gap, ttl = self._gap(row, latest), self._ttl(against)
        if gap is not None and gap > (ttl or IDLE_UNSTATED_S):
            return miss(MissCause.EXPIRED)
        if cause is not None:
            return miss(cause)
        blocks = self._blocks_between(row, against)
        if blocks is not None and blocks > LOOKBACK_BLOCKS:
            return miss(MissCause.LOOKBACK, blocks=blocks)
        return miss(MissCause.UNEXPLAINED)

    def _expected(self, row: int, against: int, depth: int) -> tuple[int, bool, MissCause | None]:
        """Tokens that could have been read, whether that is an estimate, and why the log's provider keeps no
        entry there although the text is equal."""
        usage = self.usage
        written = int(usage.cached[against])
        whole = depth >= int(self.table.prompt_tokens[against]) - ASKING
        scaled = int(depth * usage.scale[row])
        if written <= 0:
            read = int(usage.read[against])
            near = read > 0 and abs(scaled - read) <= max(128, scaled // 20)
            if written == 0 or int(usage.written[against]) == 0:
                return 0, True, None  # nothing was written: no entry was there to be read
            return (read, False, None) if near else (scaled // 128 * 128, True, None)
        if whole:
            return min(written, int(usage.prompt[row])), False, None
        markers = self.traced.trace.markers.of(against)
        reached = markers[markers <= depth]
        if len(reached) and int(reached[-1]) == int(markers[-1]):
            return min(written, int(usage.prompt[row])), False, None
        if len(reached):
            return int(int(reached[-1]) * usage.scale[row]), True, None
        return scaled, True, MissCause.VOLATILE_MARKER if len(markers) else MissCause.NO_MARKER

    def _ready(self, row: int, *holders: int) -> int | None:
        """The first of the holders whose entry could be read when the request began; None where none could."""
        time = self.usage.time_s[row]
        for holder in holders:
            ready = self.usage.first_token_s[holder]
            if np.isnan(ready):
                ready = self.usage.time_s[holder] + COLD_S
            if np.isnan(time) or np.isnan(ready) or ready <= time:
                return holder
        return None

    def _gap(self, row: int, against: int) -> float | None:
        gap = float(self.usage.time_s[row] - self.usage.time_s[against])
        return None if np.isnan(gap) else gap

    def _ttl(self, row: int) -> int | None:
        ttl = int(self.usage.ttl_s[row])
        return ttl if ttl > 0 else None

    # -- what differs ------------------------------------------------------------------------------------------

    def _differing(self, row: int, against: int) -> Iterator[tuple[str, MissCause]]:
        for name in (*self.names, "prompt_cache_key", "provider"):
            if self._value(name)[row] != self._value(name)[against]:
                yield name, _cause_of(name)

    def _value(self, name: str) -> list[str]:
        values = self._values.get(name)
        if values is None:
            values = []
            for request in self.requests:
                own = request.provider if name == "provider" else None
                if name == "prompt_cache_key":
                    own = request.identity.prompt_cache_key
                if own is None:
                    own = dict(request.identity.labels).get(name)
                if own is None:
                    own = next(
                        (raw.decode("utf-8", "replace") for n, raw in request.parameters if n == name), ""
                    )
                values.append(own)
            self._values[name] = values
        return values

    def _depth_within(self, name: str) -> Int64:
        """Longest prefix of each prompt that an earlier one with the same value of this field has (tokens)."""
        if name not in self._within:
            self._within[name] = depth_within(self.traced, self._value(name))
        return self._within[name]

    def _blocks_between(self, row: int, against: int) -> int | None:
        """Blocks from the first marker of the request behind the earlier one's last entry back to that entry."""
        trace = self.traced.trace
        own, theirs = trace.markers.of(row), trace.markers.of(against)
        if not len(own) or not len(theirs):
            return None
        entry = int(theirs[-1])
        behind = own[own > entry]
        if not len(behind):
            return None
        ends = trace.boundaries.of(row)
        return int(((ends > entry) & (ends <= int(behind[0]))).sum())

    # -- usage figures without prompts -------------------------------------------------------------------------

    def _figures_only(self, row: int, against: int, space: tuple[int, int]) -> Miss | None:
        """A miss shown by figures alone, where the log records hashes of the prefix, upstreams or lifetimes."""
        usage = self.usage
        expected, read = int(usage.cached[against]), int(usage.read[row])
        if expected <= 0 or expected - read < max(EXACT_LEAST, expected // 50):
            return None
        gap, ttl = self._gap(row, against), self._ttl(against)
        expired = gap is not None and ttl is not None and gap > ttl
        found = Miss(row, against, expected, expected - read, False, MissCause.UNEXPLAINED, gap, ttl)
        hashes = [name for name in self.names if "hash" in name and self._value(name)[row]]
        changed = [name for name in hashes if self._value(name)[row] != self._value(name)[against]]
        if changed:
            return _with(
                found, MissCause.HASH_CHANGED, changed[0], *self._pair(changed[0], row, against), expired
            )
        for name in self.names:
            if _cause_of(name) in (MissCause.UPSTREAM, MissCause.ACCOUNT) and "hash" not in name:
                values = self._value(name)
                before = range(row - 1, -1, -1)
                same = next((r for r in before if values[r] == values[row] and self._space(r) == space), None)
                left = int(usage.cached[same]) if same is not None else 0
                if abs(left - read) > max(EXACT_LEAST, left // 50):
                    continue
                other = next(
                    (r for r in before if values[r] != values[row] and self._space(r) == space), None
                )
                if other is not None:
                    return _with(found, _cause_of(name), name, values[other], values[row], expired)
        if expired and (hashes or read < expected // 2):
            return _with(found, MissCause.EXPIRED, "", "", "", True)
        return found if hashes else None

    def _pair(self, name: str, row: int, against: int) -> tuple[str, str]:
        return self._value(name)[against], self._value(name)[row]

    def _space(self, row: int) -> tuple[int, int]:
        return int(self.table.namespace[row]), int(self.table.session.codes[row])


def _with(found: Miss, cause: MissCause, name: str, was: str, now: str, expired: bool) -> Miss:
    return replace(found, cause=cause, name=name, was=was, now=now, expired_too=expired)


def _cause_of(name: str) -> MissCause:
    plain = name.lower().rpartition(".")[2]
    if plain in ("prompt_cache_key", "user", "safety_identifier"):
        return MissCause.CACHE_KEY
    if plain in _ROUTING or plain == "provider":
        return MissCause.UPSTREAM
    return MissCause.ACCOUNT if plain in _ACCOUNT else MissCause.PARAMETER


def depth_within(traced: TracedLog, values: Sequence[Hashable]) -> Int64:
    """Longest prefix of each prompt that an earlier prompt with the same value has (int64 tokens)."""
    from analyzers import kernels

    codes: dict[Hashable, int] = {}
    group = np.array([codes.setdefault(value, len(codes)) for value in values], np.int32)
    tree, leaf = traced.trace.tree, traced.trace.requests.leaf
    depth: Int64 = kernels.reused_depth_within(tree.parent, tree.depth_end, leaf, group, 4 * len(group))
    return depth
