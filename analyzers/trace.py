"""The Trace: the one object between the readers and every question asked.

It holds a request table, the prefix tree of all prompts, and per request the depths of its block boundaries
and cache markers. It holds no prompt text.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

MISSING = -1
"""What integer columns hold where the log says nothing; null in Parquet, None in JSON."""

NO_TIME = np.iinfo(np.int64).min
"""What time columns hold where the log has no time."""


@dataclass(frozen=True)
class PrefixTree:
    """A compressed (radix) tree over the prompts of all requests, one forest per namespace.

    Node n stands for the tokens at depths [depth_start[n], depth_end[n]) of the requests below it; every
    request that touches one of them touches all (an *atom*). All arrays have one int32 entry a node.

    Nodes are numbered by (first_request, depth_start): a parent stands before its children, and the nodes
    that a request added are neighbours. `parent` is -1 for a node at depth 0.

    `first_request` is the first request to bring the node into a cache, in its prompt or in its output.
    """

    parent: Int32
    depth_start: Int32
    depth_end: Int32
    first_request: Int32

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True)
class Ragged:
    """A list of integers per request: those of request r are values[offsets[r]:offsets[r + 1]].

    `offsets` is int64 of length requests + 1, `values` int64.
    """

    offsets: Int64
    values: Int64

    def of(self, request: int) -> Int64:
        return self.values[self.offsets[request] : self.offsets[request + 1]]


@dataclass(frozen=True)
class Names:
    """A dictionary-encoded text column: `codes[r]` points into `values`; -1 where the log says nothing."""

    codes: Int32
    values: list[str]

    def of(self, request: int) -> str | None:
        code = int(self.codes[request])
        return None if code < 0 else self.values[code]


@dataclass(frozen=True)
class RequestTable:
    """One row a request, in time order (file order where there are no times). Arrays of equal length.

    Times are int64 nanoseconds since 1970 UTC, NO_TIME where unknown. Token counts are int64, -1 (MISSING)
    where unknown. `leaf` is the node at whose end the prompt ends, -1 for an empty prompt. `cached_leaf` is
    the node at whose end the sequence ends that a serving engine keeps: prompt and output less the last
    sampled token where the output's ids are known, else the same as `leaf`; `cached_tokens` is its depth.
    `seen_elsewhere` counts prompt tokens that no earlier prompt has as a prefix although their content stood in
    one, behind a different prefix. Logged usage is inclusive: `usage_prompt` = uncached + read + written.
    """

    request_id: list[str]
    time_ns: Int64
    first_token_ns: Int64
    end_ns: Int64
    namespace: Int32
    prompt_tokens: Int64
    output_tokens: Int64
    leaf: Int32
    cached_leaf: Int32
    cached_tokens: Int64
    seen_elsewhere: Int64
    usage_prompt: Int64
    usage_read: Int64
    usage_written: Int64
    usage_output: Int64
    model: Names
    provider: Names
    session: Names
    tenant: Names
    route: Names
    file: Names
    line: Int64

    def __len__(self) -> int:
        return len(self.request_id)


@dataclass(frozen=True)
class TraceInfo:
    """How a trace was made; what two people need to reproduce its figures."""

    tokenizer: str
    """Name of the tokenizer, or "none" for a trace that came as ids."""
    tokenizer_note: str
    """Whether it is the model's own or a stand-in."""
    rendering: str
    """The order of parts and the chat format that was assumed."""
    namespace_fields: tuple[str, ...]
    """The fields two requests must agree in to share a prefix."""
    namespaces: tuple[str, ...]
    """Label of each namespace id, `field=value` pairs."""
    prompts_incomplete: bool = False
    """Whether prompts lack parts that were sent; logged figures then count more than the content shows."""
    unit: int = 1
    """Tokens one tree depth stands for at least: 1, or the block length of a hash-only trace. Node depths are
    multiples of it, and a prompt may end inside its last block: cap depths at `prompt_tokens`."""
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tool_version: str = ""

    @property
    def holds_text(self) -> bool:
        """Whether the requests came as text, so that what changed in them can be told."""
        return self.tokenizer != "none"


@dataclass(frozen=True)
class Trace:
    """A request table, the prefix tree, and per request the token depths of boundaries and markers.

    `boundaries`: depth at which each content block ends, ascending; `boundary_paths`: index into `paths` of
    the block that ends there (same offsets). `markers`: depth at which a cache marker stands, ascending;
    `marker_ttl_s`: its lifetime in seconds, -1 where the marker names none (same offsets). `written`: the tokens
    the log says were written, `written_ttl_s`: the lifetime they were written with, 0 where not stated.
    """

    info: TraceInfo
    requests: RequestTable
    tree: PrefixTree
    boundaries: Ragged
    boundary_paths: Ragged
    markers: Ragged
    marker_ttl_s: Ragged
    written: Ragged
    written_ttl_s: Ragged
    paths: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.requests)
