"""SHARDS as published, for comparison: blocks in the sample for all their requests or for none.

Waldspurger, Park, Garthwaite and Ahmad, Efficient MRC construction with SHARDS, FAST 2015: fixed rate, with the correction
of the first bucket (SHARDS-adj): the references that the sample has too few are added to the smallest distance.
"""

import numpy as np

from analyzers.compiled import njit
from analyzers.trace import Int64
from simulators.blocks import CachedSequences
from simulators.kernels.places import unit_random
from simulators.kernels.stack import _add, _sum_to


@njit(cache=True)
def _shards(parent, depth_start, depth_end, first_request, leaf, most_hits, size, rate, seed):  # type: ignore[no-untyped-def]
    """Distances in the sample (float64, unscaled) of the hits of sampled blocks, and all their touches."""
    edge = depth_start // size
    first_block = np.zeros(len(parent) + 1, np.int64)
    for node in range(len(parent)):
        first_block[node + 1] = first_block[node] + depth_end[node] // size - edge[node]
    kept = np.zeros(first_block[-1], np.bool_)
    for node in range(len(parent)):
        for k in range(first_block[node + 1] - first_block[node]):
            kept[first_block[node] + k] = (
                unit_random(seed, first_request[node], (edge[node] + k + 1) * size) < rate
            )
    toucher = np.full(len(kept), -1, np.int64)
    live = np.zeros(len(leaf) + 1, np.int64)
    distances = [0.0]
    touches = 0
    stacked = np.int64(0)
    for request in range(len(leaf)):
        node = leaf[request]
        path = [np.int64(0)]
        index = [np.int64(0)]
        while node >= 0:
            for k in range(first_block[node + 1] - first_block[node] - 1, -1, -1):
                if kept[first_block[node] + k]:
                    path.append(first_block[node] + k)
                    index.append(edge[node] + k)
            node = parent[node]
        same, before = 0, np.int64(-1)
        for i in range(len(path) - 1, 0, -1):
            last = toucher[path[i]]
            same = same + 1 if last == before else 0
            before = last
            touches += 1
            if last >= 0 and index[i] < most_hits[request]:
                distances.append(np.float64(stacked - _sum_to(live, last) + same))
        for i in range(1, len(path)):
            last = toucher[path[i]]
            if last >= 0:
                _add(live, last, -1)
                stacked -= 1
            toucher[path[i]] = request
            _add(live, request, 1)
            stacked += 1
    return np.array(distances[1:]), touches


def shards_curve(
    sequences: CachedSequences, size: int, rate: float, seed: int, capacities: Int64
) -> tuple[Int64, int]:
    """Hit tokens (int64) at each capacity in blocks, and how many touches the sample has."""
    distances, touches = _shards(
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        sequences.first_request,
        sequences.leaf,
        sequences.most_hit_blocks(size),
        size,
        rate,
        seed,
    )
    hits = np.searchsorted(np.sort(distances / rate), capacities, side="left") / rate
    expected = int((sequences.known_tokens // size).sum())
    tokens: Int64 = np.rint((hits + expected - touches / rate) * size).astype(np.int64)
    return tokens, touches
