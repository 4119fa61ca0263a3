"""Why each prompt token was computed instead of read: one class a token, adding up to the prompt.

Reading a prompt from its start: what was hit; then what an unbounded cache of the same kind would have hit, each
lost for a reason of the replay; then the rest of a block and the last token; then what no earlier request of the
namespace began with: known in another namespace, known behind another prefix, or new.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analyzers.trace import Int64
from simulators.blocks import CachedSequences
from simulators.stack_records import StackRecords
from simulators.sweep import ages
from simulators.touch_records import Touches


class MissClass(StrEnum):
    """Every prompt token has one of these; `hit` was read."""

    HIT = "hit"
    EVICTED = "evicted"
    """Lost for want of room: a larger cache with the same lifetime would have had it."""
    EXPIRED = "expired"
    """Older than the lifetime, whatever the room."""
    NOT_READY = "not_ready"
    """Still being computed by another request."""
    OTHER_REPLICA = "other_replica"
    INVALIDATED = "invalidated"
    RESTORE_FAILED = "restore_failed"
    BELOW_MINIMUM = "below_minimum"
    """The prefix is shorter than what the provider caches at all."""
    BLOCK_TAIL = "block_tail"
    """Seen before, but in an incomplete block, or the last token, which is always computed."""
    ISOLATION = "isolation"
    """The same prefix, but in another namespace."""
    DIVERGED = "diverged"
    """The same content, but behind another prefix."""
    COLD = "cold"
    """Never seen."""


LOSSES = (
    MissClass.EVICTED,
    MissClass.EXPIRED,
    MissClass.NOT_READY,
    MissClass.OTHER_REPLICA,
    MissClass.INVALIDATED,
    MissClass.RESTORE_FAILED,
    MissClass.BELOW_MINIMUM,
)
"""The classes between what was hit and what an unbounded cache hits."""


@dataclass(frozen=True)
class MissClasses:
    """Tokens of each request by class (int64 arrays), in the order of MissClass.

    `diverged_known` is False for traces without content: then `cold` holds both cold and diverged tokens, and
    `isolation_known` is False where other namespaces were not looked at: those tokens are in the rest.
    """

    tokens: Mapping[MissClass, Int64]
    diverged_known: bool
    isolation_known: bool

    def prompt_tokens(self) -> Int64:
        """Prompt tokens of each request (int64): the sum of its classes."""
        total: Int64 = np.sum(list(self.tokens.values()), axis=0)
        return total

    def totals(self) -> dict[MissClass, int | None]:
        """Tokens by class over all requests; None for a class that cannot be told from `cold`."""
        unknown = set()
        if not self.diverged_known:
            unknown.add(MissClass.DIVERGED)
        if not self.isolation_known:
            unknown.add(MissClass.ISOLATION)
        return {c: None if c in unknown else int(t.sum()) for c, t in self.tokens.items()}


def classify_misses(
    sequences: CachedSequences,
    hit_tokens: Int64,
    servable_tokens: Int64,
    losses: Mapping[MissClass, Int64],
    *,
    isolated: Int64 | None = None,
    seen_elsewhere: Int64 | None = None,
) -> MissClasses:
    """Give every prompt token its class. Arrays are int64 tokens a request.

    `losses` splits `servable_tokens` − `hit_tokens` by reason. `isolated`: tokens beyond the seen prefix that
    another namespace has as a prefix. `seen_elsewhere`: tokens beyond it whose content stood elsewhere; -1 where
    unknown. Raises ValueError when the losses do not add up.
    """
    lost = sum(losses.values(), np.zeros(len(sequences), np.int64))
    if (hit_tokens + lost != servable_tokens).any():
        raise ValueError("the losses of a replay do not add up to what it lost")
    prompt, seen = sequences.prompt_tokens, sequences.seen_tokens()
    zero = np.zeros(len(sequences), np.int64)
    beyond = prompt - seen
    other = zero if isolated is None else np.clip(isolated, 0, beyond)
    elsewhere = zero
    diverged_known = seen_elsewhere is not None and bool((seen_elsewhere >= 0).all())
    if seen_elsewhere is not None and diverged_known:
        elsewhere = np.minimum(seen_elsewhere, beyond - other)
    tokens = {MissClass.HIT: hit_tokens}
    tokens |= {reason: losses.get(reason, zero) for reason in LOSSES}
    tokens |= {
        MissClass.BLOCK_TAIL: seen - servable_tokens,
        MissClass.ISOLATION: other,
        MissClass.DIVERGED: elsewhere,
        MissClass.COLD: beyond - other - elsewhere,
    }
    return MissClasses(tokens, diverged_known, isolated is not None)


def sweep_losses(
    sequences: CachedSequences,
    records: StackRecords,
    touched: Touches,
    capacity: int | None,
    ttl_s: float | None,
) -> dict[MissClass, Int64]:
    """What one capacity (blocks, None for unbounded) and lifetime of a sweep lose, by reason (int64 tokens).

    A token older than the lifetime is expired even if it had been evicted before: more room alone would not
    bring it back.
    """
    alive = np.ones(len(records.readable), bool)
    if ttl_s is not None:
        alive = ages(touched) <= round(ttl_s * 1e9)
    kept = records.readable
    if capacity is not None:
        kept = np.clip(capacity - records.distance, 0, records.readable)

    def by_request(blocks: Int64) -> Int64:
        total: Int64 = np.bincount(touched.request, blocks, len(sequences)).astype(np.int64)
        return total * records.size

    return {
        MissClass.EVICTED: by_request(np.where(alive, records.readable - kept, 0)),
        MissClass.EXPIRED: by_request(np.where(alive, 0, records.readable)),
    }
