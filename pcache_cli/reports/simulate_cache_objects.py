"""What a log of cache objects shows: whether a shared prefix stayed as it was."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count

if TYPE_CHECKING:
    from rich.console import Console

    from simulators.cache_objects import MutatedCache

FIX = "give each call a copy of the cache object, or cut it back to the prefix before each"


def cache_objects_document(calls: int, mutated: "Sequence[MutatedCache]") -> dict[str, object]:
    """The finding as it stands in JSON."""
    return {
        "calls": calls,
        "finding": "engine.cache_mutated" if mutated else None,
        "first_wrong_call": mutated[0].call if mutated else None,
        "surplus_tokens": mutated[0].surplus_tokens if mutated else 0,
        "fix": FIX if mutated else None,
        "wrong_calls": [
            {
                "call": m.call,
                "cache_object": m.cache_object,
                "prefix_tokens": m.prefix_tokens,
                "found_tokens": m.found_tokens,
            }
            for m in mutated
        ],
    }


def print_cache_objects(out: "Console", calls: int, mutated: "Sequence[MutatedCache]") -> None:
    """One sentence a wrong call."""
    if not mutated:
        out.print(
            f"All {count(calls)} calls found their cache object as long as the prefix they started from."
        )
        return
    for m in mutated:
        out.print(
            plain(
                f"Call {m.call} started from cache object {m.cache_object} with {m.found_tokens:,} tokens although its "
                f"prefix has {m.prefix_tokens:,}: {m.surplus_tokens:+,} tokens of other content, not a hit."
            )
        )
    out.print(f"Fix: {FIX}.")
