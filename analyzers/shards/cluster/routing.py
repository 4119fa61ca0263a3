"""Which machine builds the tree of which requests: by how they begin, told apart as finely as an even load needs.

Requests of a namespace that begin alike must meet on one machine. Where most of a log shares one system prompt that
would be a single machine, so a group with more than its share of the log is parted where its requests go apart: by
roots a little longer than what half of them have in common. What is shorter goes to the crown.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analyzers.shards.cluster.forest import balance, number_groups
from analyzers.shards.cluster.protocol import Cluster
from analyzers.shards.cluster.shard_tasks import Placing
from analyzers.shards.cluster.tree_tasks import Branches, Cuts, Roots, Routes, root_branches, shard_roots
from analyzers.trace import Int64

_MOST_ROUNDS = 12


def route_requests(
    cluster: Cluster, pieces: Sequence[Any], placings: Sequence[Placing], root_tokens: int
) -> list[Routes]:
    """The routes of each shard; `pieces` are handles of the shards' pieces."""
    return _Routing(cluster, pieces, placings, root_tokens).routes()


class _Routing:
    """Groups of all shards' roots. By group: its size in runs (0 for one that was parted), and whether it stays."""

    def __init__(
        self, cluster: Cluster, pieces: Sequence[Any], placings: Sequence[Placing], root_tokens: int
    ) -> None:
        self._cluster = cluster
        self._shards = list(zip(pieces, placings, strict=True))
        self._cuts = [Cuts(root_tokens) for _ in self._shards]
        self._groups = [np.empty(0, np.int64) for _ in self._shards]
        self._size = np.empty(0, np.int64)
        self._stays = np.empty(0, bool)

    def routes(self) -> list[Routes]:
        self._number(list(range(len(self._shards))))
        for _ in range(_MOST_ROUNDS):
            large = (self._size > self._size.sum() / self._cluster.workers) & ~self._stays
            if not large.any() or not self._part(large.nonzero()[0]):
                break
        reducers = max(1, min(self._cluster.workers, int((self._size > 0).sum())))
        reducer = balance(self._size, reducers)
        return [
            Routes(cuts, group, reducer[group], reducers)
            for cuts, group in zip(self._cuts, self._groups, strict=True)
        ]

    def _part(self, large: Int64) -> bool:
        """Part those of the groups that can be parted, and say whether there are any."""
        asked = {s: np.flatnonzero(np.isin(group, large)) for s, group in enumerate(self._groups)}
        asked = {s: roots for s, roots in asked.items() if len(roots)}
        begun = {
            s: self._cluster.submit(root_branches, *self._shards[s], self._cuts[s], roots)
            for s, roots in asked.items()
        }
        tokens = self._where_to_part(
            large, [(self._groups[s][roots], self._cluster.get(begun[s])) for s, roots in asked.items()]
        )
        self._stays[large[tokens == 0]] = True
        large, tokens = large[tokens > 0], tokens[tokens > 0]
        parted_in = []
        for s, roots in asked.items():
            parted = roots[np.isin(self._groups[s][roots], large)]
            if len(parted):
                new = tokens[np.searchsorted(large, self._groups[s][parted])]
                cuts = self._cuts[s]
                self._cuts[s] = Cuts(cuts.tokens, (*cuts.parted, (parted, new)))
                parted_in.append(s)
        if not parted_in:
            return False
        self._number(parted_in)
        self._size[large] = 0
        return True

    def _where_to_part(self, large: Int64, told: Sequence[tuple[Int64, Branches]]) -> Int64:
        """New length of the roots of each group (int64), 0 where most of its requests end before."""
        group = np.concatenate([groups for groups, _ in told])
        tokens, requests, long = (
            np.concatenate([getattr(branches, name) for _, branches in told])
            for name in ("tokens", "requests", "long")
        )
        lengths = np.zeros(len(large), np.int64)
        for at, number in enumerate(large.tolist()):
            own = np.flatnonzero(group == number)
            own = own[np.argsort(tokens[own], kind="stable")]
            votes = np.cumsum(requests[own])
            if votes[-1] and 2 * long[own].sum() > votes[-1]:
                middle = own[np.searchsorted(votes, votes[-1] / 2)]
                lengths[at] = tokens[middle] + self._cuts[0].tokens
        return lengths

    def _number(self, shards: Sequence[int]) -> None:
        """Number the groups of the roots that the last round of cuts made in these shards."""
        begun = [self._cluster.submit(shard_roots, *self._shards[s], self._cuts[s]) for s in shards]
        found: list[Roots] = [self._cluster.get(result) for result in begun]
        # Roots that were parted have numbers of their shard; what counts is their group.
        spaces = [
            self._groups[s][roots.space] if self._cuts[s].parted else roots.space
            for s, roots in zip(shards, found, strict=True)
        ]
        numbers = number_groups(np.concatenate(spaces), np.concatenate([roots.key for roots in found]))
        sizes = np.bincount(numbers, weights=np.concatenate([roots.runs for roots in found]))
        numbers += len(self._size)
        self._size = np.concatenate([self._size, sizes.astype(np.int64)])
        self._stays = np.concatenate([self._stays, np.zeros(len(sizes), bool)])
        ends = np.cumsum([len(roots.runs) for roots in found])
        for s, new in zip(shards, np.split(numbers, ends[:-1]), strict=True):
            self._groups[s] = np.concatenate([self._groups[s], new])
