"""A piece: what a slice of a log leaves behind once it has been read, rendered and tokenized. It holds no text.

Pieces are made apart from one another, in any order and on any machine, and merged into one Trace. So nothing in
them is numbered beyond the piece: content is known by 128-bit hashes, names by their text.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from analyzers.logs.account import SliceAccount
from analyzers.prefix_tree import UInt32
from analyzers.rendering import RenderingAccount
from analyzers.request_rows import RequestRows
from analyzers.trace import Int32, Int64, Ragged

UInt64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class DistinctRuns:
    """Distinct token runs of a piece and their chunks.

    Run k is pool[offsets[k] : offsets[k + 1]] (`pool` uint32, `offsets` int64 of length runs + 1), its content
    hash `hash[k]` (uint64, runs x 2). Its chunks are chunk_offsets[k] to chunk_offsets[k + 1]: lengths in tokens
    (int32) and content hashes (uint64, chunks x 2); runs that stand in outputs alone have none. Ids that are no
    vocabulary's are numbered by the piece: `virtual` gives the text each stands for, and hashes go by the text.
    """

    pool: UInt32
    offsets: Int64
    hash: UInt64
    chunk_offsets: Int64
    chunk_length: Int32
    chunk_hash: UInt64
    virtual: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Piece:
    """One slice. All lists by request stand in the order of `rows`, which is file order.

    `prompts` lists the runs of each prompt (empty for a request outside the period, for one without content, and
    for an empty prompt). `output` (int32) is the run that a serving cache keeps of each request's output, its last
    token left out, -1 where there is none. `boundaries` ... `path_names` are as in Trace.
    `tokenizer` is the name of the tokenizer that the runs were made with, None if the slice had no need of one;
    `holds_text` and `holds_ids` say whether prompts came as text or as token ids.
    """

    account: SliceAccount
    rows: RequestRows
    runs: DistinctRuns
    prompts: Ragged
    output: Int32
    boundaries: Ragged
    boundary_paths: Ragged
    markers: Ragged
    marker_ttl_s: Ragged
    path_names: list[str]
    rendering: RenderingAccount
    rendering_description: str
    tokenizer: str | None
    tokenizer_notes: tuple[str, ...]
    holds_text: bool
    holds_ids: bool
