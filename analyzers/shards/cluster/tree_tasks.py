"""What workers do for the prefix tree: say how their requests begin, send them off by that, and build trees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyzers.prefix_tree import TokenRuns
from analyzers.request_rows import taken
from analyzers.shards.cluster.forest import (
    Grove,
    Sequences,
    crown_share,
    grow_groups,
    number_groups,
    root_keys,
    select,
)
from analyzers.shards.cluster.parcels import (
    Parcel,
    deal,
    longest_sequences,
    parcel_of_piece,
    put_together,
    sequences_of,
)
from analyzers.shards.cluster.shard_tasks import Placing
from analyzers.shards.piece import Piece, UInt64
from analyzers.trace import Int64, Ragged


@dataclass(frozen=True)
class Cuts:
    """How roots are told apart in a shard, which numbers them as they come.

    At first all are `tokens` long. Each round of `parted` then parts some (their numbers, ascending, int64) by roots
    that have so many tokens instead (int64), numbered behind all others.
    """

    tokens: int
    parted: tuple[tuple[Int64, Int64], ...] = ()


@dataclass(frozen=True)
class Roots:
    """The roots of a shard that the last round of cuts made.

    Two are the same if they agree in `key` (uint64 of shape (roots, 2)) and `space` (int64): their namespace, or the
    number of the root that was parted. `runs` (int64): how many runs the requests have that begin so.
    """

    space: Int64
    key: UInt64
    runs: Int64


@dataclass(frozen=True)
class Branches:
    """Where requests of one root go apart, for some roots of a shard (int64 each).

    `tokens`: half of the requests have at most so many tokens in common with the first. `requests`: how many were
    compared, `long`: how many go on long enough behind that to be told apart.
    """

    tokens: Int64
    requests: Int64
    long: Int64


@dataclass(frozen=True)
class Routes:
    """For each root of a shard its group and who builds the group's tree (int64)."""

    cuts: Cuts
    group: Int64
    reducer: Int64
    reducers: int


def shard_roots(pieces: Sequence[Piece], placing: Placing, cuts: Cuts) -> Roots:
    """Travels to the driver: 32 bytes a root."""
    requests = _requests(pieces, placing)
    cut = _cut(requests, cuts)
    new = np.flatnonzero(cut.root >= cut.before)
    numbers, first = np.unique(cut.root[new], return_index=True)
    weight = np.diff(requests.prompts.offsets) + (requests.output >= 0)
    sums = np.bincount(cut.root[new] - cut.before, weights=weight[new], minlength=len(numbers))
    return Roots(cut.space[new][first], cut.key[new][first], sums.astype(np.int64))


def root_branches(pieces: Sequence[Piece], placing: Placing, cuts: Cuts, roots: Int64) -> Branches:
    """Travels to the driver: 24 bytes a root that was asked for."""
    from analyzers.shards import kernels

    requests = _requests(pieces, placing)
    longest, root = longest_sequences(requests), _cut(requests, cuts).root
    totals = longest.totals()
    found = np.zeros((3, len(roots)), np.int64)
    for at, number in enumerate(roots.tolist()):
        members = np.flatnonzero(root == number)
        some = _some(longest, members)
        common = kernels.common_prefixes(
            some.pool, some.start, some.length, some.offsets, some.runs, np.zeros(len(members), np.int64)
        )[1:]
        if len(common):
            tokens = int(np.sort(common)[(len(common) - 1) // 2])
            found[:, at] = tokens, len(common), (totals[members[1:]] >= tokens + cuts.tokens).sum()
    return Branches(*found)


def deal_requests(pieces: Sequence[Piece], placing: Placing, routes: Routes) -> list[Parcel]:
    """Travels to the reducers: what each needs of the shard, every run of it once."""
    requests = _requests(pieces, placing)
    cut = _cut(requests, routes.cuts)
    # Any reducer will do for requests without a root.
    reducer = np.where(
        cut.root >= 0, np.append(routes.reducer, 0)[cut.root], requests.owner % routes.reducers
    )
    group = np.append(routes.group, -1)[cut.root]
    return deal(replace(requests, group=group, root=cut.tokens), reducer, routes.reducers)


def grow_share(*parcels: Parcel) -> tuple[Grove, Sequences]:
    """The trees of a reducer's groups, and its share of the crown. Travels to the driver: 16 bytes a node."""
    sequences = sequences_of(put_together(parcels))
    rooted = np.flatnonzero(sequences.group >= 0)
    return grow_groups(select(sequences, rooted)), crown_share(sequences)


def _requests(pieces: Sequence[Piece], placing: Placing) -> Parcel:
    parcels = [
        parcel_of_piece(
            piece.runs,
            piece.prompts,
            piece.output if placing.outputs else np.full(len(piece.output), -1, np.int32),
            row.astype(np.int32),
            namespace,
            placing.virtual,
        )
        for piece, row, namespace in zip(pieces, placing.rows, placing.namespaces, strict=True)
    ]
    return put_together(parcels)


@dataclass(frozen=True)
class _Cut:
    """The root of each request (-1: it is shorter), its tokens, and what told it apart; numbers below `before` are of
    earlier rounds."""

    root: Int64
    tokens: Int64
    space: Int64
    key: UInt64
    before: int


def _cut(requests: Parcel, cuts: Cuts) -> _Cut:
    longest = longest_sequences(requests)
    tokens = np.full(len(requests), cuts.tokens, np.int64)
    space = requests.namespace.astype(np.int64)
    key = root_keys(longest, tokens)
    root = number_groups(space, key)
    before, count = 0, int(root.max(initial=-1)) + 1
    for parted, new_tokens in cuts.parted:
        again = np.flatnonzero(np.isin(root, parted))
        space[again] = root[again]
        tokens[again] = new_tokens[np.searchsorted(parted, root[again])]
        key[again] = root_keys(_some(longest, again), tokens[again])
        new = number_groups(space[again], key[again])
        before, count = count, count + int(new.max(initial=-1)) + 1
        root[again] = np.where(new >= 0, before + new, -1)
    return _Cut(root, tokens, space, key, before)


def _some(runs: TokenRuns, which: Int64) -> TokenRuns:
    lists = taken(Ragged(runs.offsets, runs.runs), which)
    return replace(runs, offsets=lists.offsets, runs=lists.values)
