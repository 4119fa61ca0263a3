"""vLLM's automatic prefix caching (V1, one group of full-attention layers), bit for bit for requests one at a time.

Only whole blocks are shared; at least one token is computed; one block is the null block. A freed request gives
its blocks back last block first; a block loses its content when it is taken again. A block computed twice exists
twice, and the older copy is read. Since May 2026 (vLLM pull request 42656) a partial block goes to the front
of the free queue; up to 0.11 it stands in line with the rest. Checked against the KVCacheManager of 0.33.0 and
0.11.0.
"""

from collections.abc import Mapping

from analyzers.errors import UsageError
from analyzers.trace import RequestTable
from simulators.blocks import CachedSequences, block_ids
from simulators.engines.engine import EXACT, Engine, EngineRun, blocks_in_play, check_room


def _replay(
    engine: Engine, sequences: CachedSequences, requests: RequestTable, options: Mapping[str, float]
) -> EngineRun:
    from simulators.kernels.vllm import replay_vllm

    size, blocks = int(options["block-size"]), int(options["num-gpu-blocks"])
    if blocks < 2:
        raise UsageError(f"--num-gpu-blocks {blocks} leaves no block to use; one of them is the null block")
    usable = blocks - 1
    ids = block_ids(sequences, size)
    check_room(
        engine, sequences, requests, size, usable, f"--num-gpu-blocks {blocks} (one is the null block)"
    )
    hits, duplicates = replay_vllm(
        sequences.leaf,
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        ids.first_id,
        ids.count,
        size,
        sequences.total_tokens,
        sequences.most_hit_blocks(size),
        blocks_in_play(sequences, size, usable),
        engine.name == VLLM.name,
    )
    return EngineRun(
        engine=engine.name,
        standing=engine.standing,
        rules=engine.rules,
        options=options,
        hit_unit=size,
        capacity_tokens=usable * size,
        hit_tokens=hits * size,
        servable_tokens=sequences.servable_tokens(size),
        duplicate_writes=int(duplicates),
    )


VLLM = Engine(
    name="vllm",
    standing=EXACT,
    rules="vLLM since pull request 42656 (checked with 0.33.0): whole blocks, last token computed, partial blocks "
    "freed to the front of the queue, copies kept",
    options={"num-gpu-blocks": None, "block-size": 16},
    replay=_replay,
)
VLLM_0_11 = Engine(
    name="vllm-0.11",
    standing=EXACT,
    rules="vLLM up to 0.11 (checked with 0.11.0): as vllm, but partial blocks wait in line with the others",
    options={"num-gpu-blocks": None, "block-size": 16},
    replay=_replay,
)
