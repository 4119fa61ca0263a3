"""Which entries a full cache gives up. One file a family; each holds compiled functions over a `Store`.

A policy has two verbs: `use` (what happened to the entries of a request: inserted, served, or written once more)
and `evict` (name so many entries to give up, never one that the running request uses or that is still being built).
`simulators/kernels/replay_policies.py` has one branch for each.

Served is only the unbroken run of entries from the root. An entry behind a hole has to be computed again, so it
earns nothing with any policy.
"""

from dataclasses import dataclass

FIFO, LRU, LFU, SIZE_AWARE, PRIORITY, S3_FIFO, ARC, BELADY = range(8)
RANKED = (LFU, SIZE_AWARE, PRIORITY, BELADY)
"""The policies that keep a heap of ranks."""


@dataclass(frozen=True)
class Policy:
    """A name as typed, the number the compiled loop knows it by, and one sentence of help."""

    name: str
    code: int
    summary: str


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("lru", LRU, "give up what was used longest ago"),
        Policy("fifo", FIFO, "give up what was written longest ago"),
        Policy("lfu", LFU, "give up what was served least often, then longest ago"),
        Policy("size-aware", SIZE_AWARE, "keep long prefixes longer: they are dear to rebuild (GreedyDual)"),
        Policy(
            "priority", PRIORITY, "give up the lowest class first, pinned classes last; LRU within a class"
        ),
        Policy("s3-fifo", S3_FIFO, "a small queue on trial, a main queue, and a memory of what was given up"),
        Policy("arc", ARC, "balance once-used against often-used by what turns out to be missed"),
        Policy("belady", BELADY, "know the future: the most hit tokens any policy could have had"),
    )
}
