"""Several replicas with caches of their own, and who decides which of them serves a request.

`random` (seeded), `round-robin`; `session-hash` and `prefix-hash` by the remainder of a hash, which moves almost
every key when the number of replicas changes; `consistent-session` and `consistent-prefix` by a hash ring with
virtual points (Karger et al., STOC 1997), which moves only the keys of the replica that came or went;
`prefix-aware`: the replica that can serve most of the prompt, unless it is overloaded.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analyzers.errors import UsageError
from analyzers.trace import Int32, Int64, Trace

_MOST = 10_000
Routing = Literal[
    "random",
    "round-robin",
    "session-hash",
    "prefix-hash",
    "consistent-session",
    "consistent-prefix",
    "prefix-aware",
]
ROUTINGS: tuple[Routing, ...] = (
    "random",
    "round-robin",
    "session-hash",
    "prefix-hash",
    "consistent-session",
    "consistent-prefix",
    "prefix-aware",
)
RING_POINTS = 64
"""Virtual points of a replica on the ring."""


@dataclass(frozen=True)
class Change:
    """A replica joins (with empty caches) or leaves (its caches are lost) at a time (ns since 1970)."""

    time_ns: int
    replica: int
    joins: bool


@dataclass(frozen=True)
class Replicas:
    """`count` replicas from 0; those named first in a joining Change are absent until then.

    `prefix_tokens`: how much of the prompt a prefix key covers. `balance`, `half_life_s` are for prefix-aware: a
    replica is overloaded when the prompt tokens it computed lately (halved every `half_life_s`) exceed `balance`
    times the mean of all replicas plus the prompt in question.
    """

    count: int = 1
    routing: Routing = "round-robin"
    seed: int = 0
    prefix_tokens: int = 1024
    balance: float = 1.5
    half_life_s: float = 60.0
    changes: tuple[Change, ...] = ()

    def check(self) -> None:
        """Raises UsageError for settings that make no sense."""
        if self.count < 1:
            raise UsageError(f"{self.count} replicas cannot serve anything; give at least 1")
        if self.count > _MOST:
            raise UsageError(f"{self.count:,} replicas are too many; give at most {_MOST:,}")
        if self.routing not in ROUTINGS:
            raise UsageError(f"'{self.routing}' is not a routing; there are {', '.join(ROUTINGS)}")
        if self.balance < 1 or self.half_life_s <= 0 or self.prefix_tokens < 1:
            raise UsageError("balance is at least 1, half life and prefix length are positive")
        for change in self.changes:
            if not 0 <= change.replica < self.count:
                raise UsageError(
                    f"replica {change.replica} comes or goes, but there are only 0 to {self.count - 1}"
                )

    def in_order(self) -> tuple[Change, ...]:
        """Changes by time. The replicas that are absent at first leave before everything."""
        ordered = tuple(sorted(self.changes, key=lambda change: change.time_ns))
        first: dict[int, Change] = {}
        for change in ordered:
            first.setdefault(change.replica, change)
        absent = [replica for replica, change in sorted(first.items()) if change.joins]
        beginning = np.iinfo(np.int64).min
        return tuple(Change(beginning, replica, False) for replica in absent) + ordered


def route(replicas: Replicas, trace: Trace, time_ns: Int64, prefix_key: Int64) -> Int32:
    """The replica of each request (int32), -1 where the load decides when the request comes.

    `prefix_key` identifies the first `prefix_tokens` of each prompt. A request without a session is routed by its
    prefix. Raises UsageError when a request comes while there is no replica.
    """
    count = len(trace)
    changes = replicas.in_order()
    epoch = np.searchsorted(np.array([change.time_ns for change in changes], np.int64), time_ns, side="right")
    routes = np.full(count, -1, np.int32)
    drawn = np.random.default_rng(replicas.seed).random(count)
    keys = _keys(replicas, trace, prefix_key)
    for number, living in enumerate(_living(replicas.count, changes)):
        chosen = np.flatnonzero(epoch == number)
        if not len(chosen):
            continue
        if not living:
            raise UsageError(
                f"request '{trace.requests.request_id[chosen[0]]}' comes while there is no replica; "
                "let one join before the last one leaves"
            )
        if replicas.routing == "random":
            routes[chosen] = np.array(living)[(drawn[chosen] * len(living)).astype(np.int64)]
        elif replicas.routing == "round-robin":
            routes[chosen] = np.array(living)[chosen % len(living)]
        elif replicas.routing != "prefix-aware":
            owner = _owners(replicas.routing, living, {keys[r] for r in chosen})
            routes[chosen] = [owner[keys[r]] for r in chosen]
    return routes


def _living(count: int, changes: Sequence[Change]) -> list[list[int]]:
    """The replicas there are before the first change, and after each."""
    living = set(range(count))
    states = [sorted(living)]
    for change in changes:
        (living.add if change.joins else living.discard)(change.replica)
        states.append(sorted(living))
    return states


def _keys(replicas: Replicas, trace: Trace, prefix_key: Int64) -> list[str]:
    by_session = replicas.routing in ("session-hash", "consistent-session")
    sessions = [trace.requests.session.of(r) if by_session else None for r in range(len(trace))]
    return [
        f"prefix {key}" if session is None else f"session {session}"
        for session, key in zip(sessions, prefix_key.tolist(), strict=True)
    ]


def _owners(routing: Routing, living: list[int], keys: set[str]) -> dict[str, int]:
    if routing in ("session-hash", "prefix-hash"):
        return {key: living[_hash(key) % len(living)] for key in keys}
    ring = sorted(
        (_hash(f"replica {replica} point {i}"), replica) for replica in living for i in range(RING_POINTS)
    )
    points = np.array([point for point, _ in ring], np.uint64)
    return {key: ring[int(np.searchsorted(points, np.uint64(_hash(key)))) % len(ring)][1] for key in keys}


def _hash(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )
