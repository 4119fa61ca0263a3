"""SGLang's radix cache with LRU eviction, bit for bit for requests one at a time.

A tree of whole pages; the prompt's match is limited to all but its last token and floored to pages; matches and
inserts split nodes. Leaves are evicted whole, least recently walked first, when an allocation falls short; with
pages of several tokens the need is over-estimated by a page. Prompts enter the tree after their prefill, outputs at
the end. Checked against RadixCache and the unified tree of 0.5.23.
"""

from collections.abc import Mapping

from analyzers.trace import RequestTable
from simulators.blocks import CachedSequences, block_ids
from simulators.engines.engine import EXACT, Engine, EngineRun, check_room


def _replay(
    engine: Engine, sequences: CachedSequences, requests: RequestTable, options: Mapping[str, float]
) -> EngineRun:
    from simulators.kernels.sglang import replay_sglang

    size, tokens = int(options["page-size"]), int(options["max-total-tokens"])
    ids = block_ids(sequences, size)
    pages = tokens // size
    check_room(engine, sequences, requests, size, pages, f"--max-total-tokens {tokens}")
    hits = replay_sglang(
        sequences.leaf,
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        ids.first_id,
        ids.count,
        size,
        sequences.prompt_tokens,
        sequences.total_tokens,
        sequences.most_hit_blocks(size),
        pages,
    )
    return EngineRun(
        engine=engine.name,
        standing=engine.standing,
        rules=engine.rules,
        options=options,
        hit_unit=size,
        capacity_tokens=pages * size,
        hit_tokens=hits * size,
        servable_tokens=sequences.servable_tokens(size),
    )


SGLANG = Engine(
    name="sglang",
    standing=EXACT,
    rules="SGLang 0.5.23 radix cache, LRU: whole leaves evicted for the shortfall, prompt inserted after prefill, "
    "first come first served",
    options={"max-total-tokens": None, "page-size": 1},
    replay=_replay,
)
