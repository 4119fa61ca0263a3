"""Mooncake's store by its documented rules; not verified against the engine.

One object a block, shared by all. A read renews an object's lease; above the high watermark, or when there is no
room, a share of the objects whose lease has ended goes, oldest lease first; an object that finds no room is not
stored. Nothing protects the beginning of a prefix, so an orphaned rest may stay behind and is not read. Defaults
from the store's deployment guide (2026): watermark 0.95, share 0.05, lease 5 s.
"""

from collections.abc import Mapping

import numpy as np

from analyzers.errors import UsageError
from analyzers.trace import NO_TIME, RequestTable
from simulators.blocks import CachedSequences, block_ids
from simulators.engines.engine import BY_RULES, Engine, EngineRun


def _replay(
    engine: Engine, sequences: CachedSequences, requests: RequestTable, options: Mapping[str, float]
) -> EngineRun:
    from simulators.kernels.mooncake import replay_mooncake

    size, objects = int(options["block-size"]), int(options["num-objects"])
    for name in ("eviction-high-watermark-ratio", "eviction-ratio"):
        if not 0 < options[name] <= 1:
            raise UsageError(f"--{name} {options[name]:g} is no share; give a number above 0 and up to 1")
    if objects < 1:
        raise UsageError(f"--num-objects {objects} holds nothing; give 1 or more")
    ids = block_ids(sequences, size)
    timed = bool(np.all(requests.time_ns != NO_TIME))
    times = requests.time_ns if timed else np.arange(len(requests), dtype=np.int64)
    hits, refused = replay_mooncake(
        sequences.leaf,
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        ids.first_id,
        ids.count,
        size,
        sequences.total_tokens,
        sequences.most_hit_blocks(size),
        times,
        objects,
        options["eviction-high-watermark-ratio"],
        options["eviction-ratio"],
        round(options["default-kv-lease-ttl"] * 1e6) if timed else 0,
    )
    notes = [] if timed else ["some requests have no time: leases are left out"]
    if refused:
        notes.append(f"{int(refused):,} blocks found no room and were not stored")
    return EngineRun(
        engine=engine.name,
        standing=engine.standing,
        rules=engine.rules,
        options=options,
        hit_unit=size,
        capacity_tokens=objects * size,
        hit_tokens=hits * size,
        servable_tokens=sequences.servable_tokens(size),
        notes=tuple(notes),
    )


MOONCAKE = Engine(
    name="mooncake",
    standing=BY_RULES,
    rules="Mooncake store: one object a block, leases renewed by reads, batches evicted above the watermark, oldest "
    "lease first",
    options={
        "num-objects": None,
        "block-size": 512,
        "eviction-high-watermark-ratio": 0.95,
        "eviction-ratio": 0.05,
        "default-kv-lease-ttl": 5000,
    },
    replay=_replay,
)
