"""Tiers below the fastest: what it gives up moves down, what is read there moves up again.

An entry lies in one tier of its replica. The fastest tier follows the replay's policy, the lower ones are LRU.
A full tier gives its oldest entry to the next; the last gives it up. A shared tier, always the last, is one for
all replicas: it keeps its copy when an entry is read from it.
"""

from dataclasses import dataclass

from analyzers.errors import UsageError

FASTEST = "gpu"
"""The name of the tier that requests run in; its size is the replay's capacity."""


@dataclass(frozen=True)
class Tier:
    """A lower tier of `capacity_blocks` for each replica, or for all of them together where `shared`.

    `bytes_per_s` is the rate at which entries move between it and the fastest tier; None takes no time.
    """

    name: str
    capacity_blocks: int
    bytes_per_s: float | None = None
    shared: bool = False


@dataclass(frozen=True)
class TierUse:
    """What happened in one tier over a replay, in blocks and bytes (None where the block's bytes are unknown)."""

    name: str
    capacity_blocks: int | None
    hit_blocks: int
    moved_in_blocks: int
    """Blocks that came down from the tier above."""
    moved_out_blocks: int
    """Blocks that were read from here and moved (or copied) to the fastest tier."""
    bytes_in: int | None
    bytes_out: int | None


def check_tiers(tiers: tuple[Tier, ...]) -> None:
    """Raises UsageError for an empty tier, a repeated name, a rate that is not positive, or a shared tier that is
    not the last."""
    names = [FASTEST, *(tier.name for tier in tiers)]
    for tier in tiers:
        if tier.capacity_blocks < 1:
            raise UsageError(f"tier '{tier.name}' holds {tier.capacity_blocks} blocks; give it at least one")
        if names.count(tier.name) > 1:
            raise UsageError(
                f"tier '{tier.name}' is given twice; name each tier once ('gpu' is the one that the capacity sizes)"
            )
        if tier.bytes_per_s is not None and tier.bytes_per_s <= 0:
            raise UsageError(f"tier '{tier.name}' moves {tier.bytes_per_s:g} bytes/s; give a positive rate")
    if any(tier.shared for tier in tiers[:-1]):
        raise UsageError("only the last tier can be shared by the replicas; put the shared tier last")


def block_move_ns(tiers: tuple[Tier, ...], block_bytes: int | None) -> list[float]:
    """Nanoseconds to move one block into or out of each tier, the fastest first (0.0).

    Raises UsageError when a tier has a rate but the size of a block is unknown.
    """
    times = [0.0]
    for tier in tiers:
        if tier.bytes_per_s is None:
            times.append(0.0)
        elif block_bytes is None:
            raise UsageError(
                f"tier '{tier.name}' has a rate in bytes, but the bytes per token are unknown; "
                "name the model or give the KV bytes per token"
            )
        else:
            times.append(1e9 * block_bytes / tier.bytes_per_s)
    return times
