"""Requests on their way from the shards that read them to those that build their trees.

A parcel holds some requests of a shard and the tokens of their runs, each run once, known by its content hash.
Parcels of many shards are put together into one pool, equal runs in one place, so that the tree compares places
before it looks at tokens, as it does on one machine.

A request goes where the root of its longest sequence (its prompt, with its output where that is known) leads. If
its prompt alone is too short for a root, it travels along and becomes part of the crown from there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.part_tokens import as_offsets, positions
from analyzers.prefix_tree import TokenRuns, UInt32
from analyzers.request_rows import stacked as lists_stacked
from analyzers.request_rows import taken
from analyzers.shards.cluster.forest import Sequences, UInt64, in_request_order
from analyzers.shards.piece import DistinctRuns
from analyzers.tokenization import FIRST_VIRTUAL_ID
from analyzers.trace import Int32, Int64, Ragged


@dataclass(frozen=True)
class Parcel:
    """Some requests and the runs that they need.

    By request: `owner` and `namespace` (int32), `group` (int64, -1 where it has no root or none was given yet), `root`
    (int64) the tokens of the group's root, `prompts` its prompt's runs, `output` (int32) the run of its output, -1 where there is none. Run k is
    pool[offsets[k] : offsets[k + 1]] (uint32), its content hash `hash[k]` (uint64 of shape (runs, 2)).
    """

    owner: Int32
    namespace: Int32
    group: Int64
    root: Int64
    prompts: Ragged
    output: Int32
    pool: UInt32
    offsets: Int64
    hash: UInt64

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        by_request = (self.owner, self.namespace, self.group, self.root, self.output)
        by_run = (self.prompts.offsets, self.prompts.values, self.pool, self.offsets, self.hash)
        return sum(array.nbytes for array in (*by_request, *by_run))


def parcel_of_piece(
    runs: DistinctRuns,
    prompts: Ragged,
    output: Int32,
    owner: Int32,
    namespace: Int32,
    virtual: Mapping[str, int],
) -> Parcel:
    """The requests of a piece that have tokens. `owner` is each request's number in the log, -1 to leave it out.

    `virtual` numbers the texts that ids from FIRST_VIRTUAL_ID on stand for, for all pieces alike.
    """
    kept = np.flatnonzero((owner >= 0) & ((np.diff(prompts.offsets) > 0) | (output >= 0)))
    return Parcel(
        owner=owner[kept],
        namespace=namespace[kept],
        group=np.full(len(kept), -1, np.int64),
        root=np.zeros(len(kept), np.int64),
        prompts=taken(prompts, kept),
        output=output[kept],
        pool=_renumbered(runs, virtual),
        offsets=runs.offsets,
        hash=runs.hash,
    )


def _renumbered(runs: DistinctRuns, virtual: Mapping[str, int]) -> UInt32:
    pool = runs.pool.copy()
    places = np.flatnonzero(pool >= FIRST_VIRTUAL_ID)
    ids, which = np.unique(pool[places], return_inverse=True)
    # A log of ids may hold such numbers of its own; they mean the same in every piece.
    everywhere = [virtual[runs.virtual[i]] if i in runs.virtual else i for i in ids.tolist()]
    pool[places] = np.array(everywhere, np.uint32)[which]
    return pool


def longest_sequences(parcel: Parcel) -> TokenRuns:
    """Each request's prompt, with its output where that is known."""
    has_output = parcel.output >= 0
    counts = np.diff(parcel.prompts.offsets)
    offsets = as_offsets(counts + has_output)
    runs = np.empty(offsets[-1], np.int64)
    of_output = np.zeros(len(runs), bool)
    of_output[offsets[1:][has_output] - 1] = True
    runs[of_output] = parcel.output[has_output]
    runs[~of_output] = parcel.prompts.values
    return TokenRuns(parcel.pool, parcel.offsets[:-1], np.diff(parcel.offsets), offsets, runs)


def sequences_of(parcel: Parcel) -> Sequences:
    """Prompts and prompts with outputs in request order, the group of each sequence that has a root."""
    longest = longest_sequences(parcel)
    with_output = np.flatnonzero(parcel.output >= 0)
    prompts = TokenRuns(
        longest.pool, longest.start, longest.length, parcel.prompts.offsets, parcel.prompts.values
    )
    lists = lists_stacked(
        [
            Ragged(prompts.offsets, prompts.runs),
            taken(Ragged(longest.offsets, longest.runs), with_output),
        ]
    )
    rooted = prompts.totals() >= parcel.root
    sequences = Sequences(
        TokenRuns(longest.pool, longest.start, longest.length, lists.offsets, lists.values),
        np.concatenate([parcel.namespace, parcel.namespace[with_output]]),
        np.concatenate([np.where(rooted, parcel.group, -1), parcel.group[with_output]]),
        np.concatenate([parcel.root, parcel.root[with_output]]),
        np.concatenate([parcel.owner, parcel.owner[with_output]]),
        np.repeat([False, True], [len(parcel), len(with_output)]),
    )
    return in_request_order(sequences)


def deal(parcel: Parcel, destination: Int64, destinations: int) -> list[Parcel]:
    """The requests of each destination with the runs that they need."""
    return [_some(parcel, np.flatnonzero(destination == d)) for d in range(destinations)]


def _some(parcel: Parcel, which: Int64) -> Parcel:
    prompts = taken(parcel.prompts, which)
    output = parcel.output[which]
    used, number = np.unique(np.concatenate([prompts.values, output, [-1]]), return_inverse=True)
    number, used = number - 1, used[1:]  # the first of them is -1, no run
    length = np.diff(parcel.offsets)[used]
    return Parcel(
        owner=parcel.owner[which],
        namespace=parcel.namespace[which],
        group=parcel.group[which],
        root=parcel.root[which],
        prompts=Ragged(prompts.offsets, number[: len(prompts.values)].astype(np.int32)),
        output=number[len(prompts.values) : -1].astype(np.int32),
        pool=parcel.pool[positions(parcel.offsets[used], length)],
        offsets=as_offsets(length),
        hash=parcel.hash[used],
    )


def put_together(parcels: Sequence[Parcel]) -> Parcel:
    """All requests of the parcels over one pool that holds every run once; at least one parcel."""
    hashes = np.concatenate([p.hash for p in parcels])
    first, number = equal_hashes(hashes)
    places = as_offsets(np.array([len(p.hash) for p in parcels], np.int64))
    of_parcel = np.split(number, places[1:-1])
    lengths = np.concatenate([np.diff(p.offsets) for p in parcels])
    starts = as_offsets(lengths)[:-1][first]
    return Parcel(
        owner=np.concatenate([p.owner for p in parcels]),
        namespace=np.concatenate([p.namespace for p in parcels]),
        group=np.concatenate([p.group for p in parcels]),
        root=np.concatenate([p.root for p in parcels]),
        prompts=lists_stacked(
            [Ragged(p.prompts.offsets, n[p.prompts.values]) for p, n in zip(parcels, of_parcel, strict=True)]
        ),
        output=np.concatenate(
            [np.append(n, -1)[p.output].astype(np.int32) for p, n in zip(parcels, of_parcel, strict=True)]
        ),
        pool=np.concatenate([p.pool for p in parcels])[positions(starts, lengths[first])],
        offsets=as_offsets(lengths[first]),
        hash=hashes[first],
    )


def equal_hashes(hashes: UInt64) -> tuple[Int64, Int64]:
    """Place of the first of each distinct hash, and for each which of those it is (int64 both)."""
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(begins) - 1
    return order[begins], number  # lexsort is stable, so the first of equals comes first
