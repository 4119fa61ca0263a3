"""llama.cpp's server slots by its documented rules; not verified against the engine.

Each slot keeps one sequence. A request goes to the slot whose sequence shares the largest part of its prompt, if
that is more than the similarity threshold, else to the slot unused for longest; it reads the common prefix but
computes at least one token. When the slot would lose most of what it holds, its sequence may be saved to host memory
and a better one loaded. With a sliding window only the last positions of a sequence have their state: a common
prefix that ends before them cannot be resumed without a checkpoint. Read in tools/server (2025-2026).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from analyzers.errors import UsageError
from analyzers.trace import RequestTable
from simulators.blocks import CachedSequences
from simulators.engines.engine import BY_RULES, Engine, EngineRun

_KEEP_OR_SAVE = 0.5
_WORTH_LOADING = 0.25


@dataclass
class _Sequence:
    """What a slot or the host memory holds: the path's deepest node, its length, and where it can be resumed."""

    leaf: int = -1
    length: int = 0
    checkpoints: list[int] = field(default_factory=list)


@dataclass
class _Server:
    sequences: CachedSequences
    window: int
    most_checkpoints: int
    host_tokens: int
    slots: list[_Sequence]
    last_used: list[int]
    saved: list[_Sequence] = field(default_factory=list)

    def common(self, leaf: int, held: _Sequence, most: int) -> int:
        from simulators.kernels.paths import common_depth

        tree = self.sequences
        depth = common_depth(leaf, held.leaf, tree.parent, tree.depth_start, tree.depth_end)
        return min(int(depth), held.length, most)

    def choose(self, leaf: int, prompt: int, threshold: float) -> tuple[int, bool]:
        """The slot to use, and whether it was chosen by what it holds."""
        shares = [self.common(leaf, slot, prompt) / prompt for slot in self.slots]
        best = int(np.argmax(shares))
        if shares[best] > threshold:
            return best, True
        return int(np.argmin(self.last_used)), False

    def swap_with_host(self, slot: int, leaf: int, prompt: int) -> None:
        """Save the slot's sequence and load the saved one that serves the prompt better, if there is one."""
        held = self.slots[slot]
        kept, share = self._worth(leaf, held, prompt)
        if held.length and not any(self.common(held.leaf, s, held.length) == held.length for s in self.saved):
            self.saved = [s for s in self.saved if self.common(held.leaf, s, held.length) < s.length]
            self.saved.append(replace(held))
        best = None
        for candidate in self.saved:
            candidate_kept, candidate_share = self._worth(leaf, candidate, prompt)
            if candidate_kept >= _WORTH_LOADING and candidate_kept > kept and candidate_share > share:
                best, kept, share = candidate, candidate_kept, candidate_share
        if best is not None:
            self.saved.remove(best)
            self.slots[slot] = best
        while len(self.saved) > 1 and sum(s.length for s in self.saved) > self.host_tokens:
            self.saved.pop(0)

    def _worth(self, leaf: int, held: _Sequence, prompt: int) -> tuple[float, float]:
        common = self.common(leaf, held, prompt)
        return (common / held.length if held.length else 0.0), common / prompt

    def resume(self, held: _Sequence, common: int) -> int:
        """The position from which the prompt can be computed on."""
        if not self.window or max(0, held.length - self.window) <= max(0, common - self.window):
            return common
        return max((c for c in held.checkpoints if c <= common), default=0)


def _replay(
    engine: Engine, sequences: CachedSequences, requests: RequestTable, options: Mapping[str, float]
) -> EngineRun:
    slots, threshold = int(options["parallel"]), options["slot-prompt-similarity"]
    if slots < 1:
        raise UsageError(f"--parallel {slots} leaves no slot; give 1 or more")
    bytes_a_token = options["kv-bytes-per-token"]
    if options["cache-ram"] and not bytes_a_token:
        raise UsageError("--cache-ram needs the size of a token: name --model or give --kv-bytes-per-token")
    host_tokens = int(options["cache-ram"] * 2**20 / bytes_a_token) if bytes_a_token else 0
    used = min(slots, max(1, len(sequences)))  # every request takes one, the ones never used first
    server = _Server(
        sequences=sequences,
        window=int(options["swa-window"]),
        most_checkpoints=int(options["ctx-checkpoints"]),
        host_tokens=host_tokens,
        slots=[_Sequence() for _ in range(used)],
        last_used=[-1] * used,
    )
    hits = np.zeros(len(sequences), np.int64)
    for r, leaf in enumerate(sequences.leaf.tolist()):
        prompt = int(sequences.prompt_tokens[r])
        if prompt < 1:
            continue
        slot, similar = server.choose(leaf, prompt, threshold)
        held = server.slots[slot]
        common = server.common(leaf, held, prompt)
        if host_tokens and (not similar or common < _KEEP_OR_SAVE * held.length):
            server.swap_with_host(slot, leaf, prompt)
            held = server.slots[slot]
            common = server.common(leaf, held, prompt)
        hits[r] = server.resume(held, min(common, prompt - 1))
        checkpoints = [c for c in held.checkpoints if c <= hits[r]] + [prompt]
        server.slots[slot] = _Sequence(
            leaf=leaf,
            length=int(sequences.total_tokens[r]),
            checkpoints=checkpoints[-server.most_checkpoints :] if server.most_checkpoints else [],
        )
        server.last_used[slot] = r
    return EngineRun(
        engine=engine.name,
        standing=engine.standing,
        rules=engine.rules,
        options=options,
        hit_unit=1,
        capacity_tokens=None,
        hit_tokens=hits,
        servable_tokens=np.minimum(sequences.seen_tokens(), np.maximum(sequences.prompt_tokens - 1, 0)),
    )


LLAMACPP_SLOTS = Engine(
    name="llamacpp-slots",
    standing=BY_RULES,
    rules="llama.cpp server: one sequence a slot, the most similar slot or the one unused for longest, common prefix "
    "kept; sliding windows resume only at the end or at a checkpoint",
    options={
        "parallel": 1,
        "slot-prompt-similarity": 0.1,
        "swa-window": 0,
        "ctx-checkpoints": 0,
        "cache-ram": 0,
        "kv-bytes-per-token": 0,
    },
    replay=_replay,
)
