"""What every engine model has in common: options as the engine names them, and hits per request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from analyzers.errors import UsageError
from analyzers.trace import Int64, RequestTable
from simulators.blocks import CachedSequences

_LARGEST_VALUE = 2**31 - 1
"""Of any option: blocks, tokens and slots are 32-bit numbers in the engines too."""

EXACT = "bit for bit, requests one at a time"
BY_RULES = "by the rules, not verified against the engine"


@dataclass(frozen=True)
class EngineRun:
    """Hit tokens of each request (int64) under one engine; requests are served one at a time, in time order.

    `hit_unit` is the number of tokens in which hits come, `servable_tokens` (int64) what the same engine would
    read if it never evicted. `duplicate_writes` counts blocks computed although a copy was cached (None where
    the engine has no such thing).
    """

    engine: str
    standing: str
    rules: str
    options: Mapping[str, float]
    hit_unit: int
    capacity_tokens: int | None
    hit_tokens: Int64
    servable_tokens: Int64
    duplicate_writes: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Engine:
    """An engine model: `options` maps each option it takes to its default, None for one that must be given.

    `rules` says in one paragraph what is modelled and where that was read; `standing` is EXACT or BY_RULES.
    """

    name: str
    standing: str
    rules: str
    options: Mapping[str, float | None]
    replay: Callable[["Engine", CachedSequences, RequestTable, Mapping[str, float]], EngineRun]


def settle_options(
    engine: Engine, given: Mapping[str, float], others: Mapping[str, list[str]]
) -> dict[str, float]:
    """The options given plus the defaults of the rest.

    `others` says which engines take an option, for the message. Raises UsageError for an option of another
    engine, one that is missing, or a value outside what makes sense.
    """
    for name in given:
        if name not in engine.options:
            owners = ", ".join(others.get(name, [])) or "no engine"
            takes = ", ".join(f"--{option}" for option in engine.options)
            raise UsageError(f"--{name} is an option of {owners}; {engine.name} takes {takes}")
    settled = {}
    for name, default in engine.options.items():
        value = given.get(name, default)
        if value is None:
            raise UsageError(f"engine {engine.name} needs --{name}")
        if value > _LARGEST_VALUE:
            raise UsageError(f"--{name} {value:g} is not possible; the largest is {_LARGEST_VALUE:,}")
        settled[name] = value
    return settled


def check_room(
    engine: Engine, sequences: CachedSequences, requests: RequestTable, size: int, blocks: int, what: str
) -> None:
    """Raises UsageError when the largest request does not fit into `blocks` units of `size` tokens."""
    from simulators.sweep import least_blocks

    least = least_blocks(sequences, size)
    if blocks < least:
        import numpy as np

        largest = int(np.argmax(sequences.total_tokens))
        raise UsageError(
            f"{engine.name} with {what} cannot run request {requests.request_id[largest]!r} of "
            f"{int(sequences.total_tokens[largest]):,} tokens, which needs {least:,} blocks of {size}"
        )


def blocks_in_play(sequences: CachedSequences, size: int, blocks: int) -> int:
    """How many of a pool's blocks the trace can take: of a larger pool the rest stays as it was.

    For pools that give out the blocks that were never used first. Until those are gone nothing is evicted, so every
    request takes its blocks less those it would read from a cache without bounds.
    """
    from simulators.sweep import least_blocks

    taken = -(-sequences.total_tokens // size) - sequences.servable_tokens(size) // size
    return min(blocks, max(int(taken.sum()), least_blocks(sequences, size)))
