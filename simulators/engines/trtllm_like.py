"""TensorRT-LLM's block reuse by its documented rules (V1 manager); not verified against the engine.

Blocks are stored when a request ends, the partial last one too; what is stored already stays and the new copy goes
back empty. Leaves are evicted first, in the order in which blocks were freed (deepest first). A stored block that
agrees in its first tokens is copied and read up to there. Not modelled: priorities, retention times, host offload.
Read in kvCacheManager.cpp, evictionPolicy.cpp and docs/source/features/kvcache.md of TensorRT-LLM.
"""

from collections.abc import Mapping

import numpy as np

from analyzers.trace import RequestTable
from simulators.blocks import CachedSequences, block_ids
from simulators.engines.engine import BY_RULES, Engine, EngineRun, blocks_in_play, check_room


def _replay(
    engine: Engine, sequences: CachedSequences, requests: RequestTable, options: Mapping[str, float]
) -> EngineRun:
    from simulators.kernels.trtllm import replay_trtllm

    size, blocks = int(options["tokens-per-block"]), int(options["num-blocks"])
    partial = bool(options["partial-reuse"])
    ids = block_ids(sequences, size)
    check_room(engine, sequences, requests, size, blocks, f"--num-blocks {blocks}")
    hits = replay_trtllm(
        sequences.leaf,
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        ids.first_id,
        ids.count,
        size,
        sequences.prompt_tokens,
        sequences.total_tokens,
        blocks_in_play(sequences, size, blocks),
        partial,
    )
    servable = np.minimum(sequences.seen_tokens(), np.maximum(sequences.prompt_tokens - 1, 0))
    return EngineRun(
        engine=engine.name,
        standing=engine.standing,
        rules=engine.rules,
        options=options,
        hit_unit=1 if partial else size,
        capacity_tokens=blocks * size,
        hit_tokens=hits,
        servable_tokens=servable if partial else sequences.servable_tokens(size),
    )


TRTLLM_LIKE = Engine(
    name="trtllm-like",
    standing=BY_RULES,
    rules="TensorRT-LLM V1 block reuse: stored at release, leaves evicted first in the order of release, partial "
    "blocks copied; no priorities, no host offload",
    options={"num-blocks": None, "tokens-per-block": 32, "partial-reuse": 1},
    replay=_replay,
)
