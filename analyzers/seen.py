"""What was seen before but cannot be reached: content of an earlier prompt, behind a different prefix.

A prefix cache serves a token only when everything in front of it is equal too. So content that returns behind
a changed first line, or in another order, is paid again: the waste that layout causes. To measure it, every
distinct run of tokens is cut once into chunks by its content (line ends first), equal chunks are numbered
alike, and each prompt's tokens beyond its reused prefix are looked up among the chunks of earlier prompts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzers.prefix_tree import TokenRuns
from analyzers.trace import Int32, Int64

SHORTEST_CHUNK = 8
"""Tokens a chunk has at least before a long line is cut inside."""

SHORTEST_STRETCH = 16
"""Tokens a stretch of known chunks must have to count as seen before."""


@dataclass(frozen=True)
class Chunks:
    """Chunks of each run: those of run k are [offsets[k], offsets[k + 1]); equal content, equal number.

    `offsets` int64 of length runs + 1; `length` (tokens) and `number` int32, one entry a chunk.
    """

    offsets: Int64
    length: Int32
    number: Int32


def cut_into_chunks(sequences: TokenRuns, cut_after: npt.NDArray[np.uint8]) -> Chunks:
    """Cut the runs of a pool into chunks. `cut_after[id]` is 1 for tokens that end a line (may be empty)."""
    from analyzers import chunk_kernels

    offsets, start, length = chunk_kernels.cut_into_chunks(
        sequences.pool, sequences.start, sequences.length, cut_after, SHORTEST_CHUNK
    )
    return Chunks(offsets, length, chunk_kernels.number_by_content(sequences.pool, start, length))


def tokens_seen_elsewhere(sequences: TokenRuns, chunks: Chunks, namespace: Int32, reused: Int64) -> Int64:
    """Per prompt, the tokens beyond its reused prefix that stood in an earlier prompt of its namespace (int64).

    `reused` is the length of each prompt's reusable prefix. Counted in stretches of at least SHORTEST_STRETCH.
    """
    from analyzers import chunk_kernels

    seen: Int64 = chunk_kernels.seen_behind_another_prefix(
        sequences.length,
        sequences.offsets,
        sequences.runs,
        namespace,
        reused,
        chunks.offsets,
        chunks.length,
        chunks.number,
        SHORTEST_STRETCH,
    )
    return seen
