"""What a simulation gives to a file: the whole grid, or one row a request."""

from pathlib import Path
from typing import TYPE_CHECKING

from pcache_cli.reports.request_table import write_table

if TYPE_CHECKING:
    from analyzers.trace import Trace
    from simulators.runs import Run, Sweep


def write_grid(path: Path, sweep: "Sweep", bytes_per_token: int | None) -> None:
    """One row a point: block_size, capacity_blocks, capacity_tokens, capacity_bytes (empty where a token's bytes are
    unknown), ttl_s (empty for no expiry), hit_tokens, hit_ratio, duplicate_writes, hit_error_tokens (empty where hits are exact)."""
    import numpy as np
    import pyarrow as pa

    columns: dict[str, list[object]] = {
        name: []
        for name in (
            "block_size",
            "capacity_blocks",
            "capacity_tokens",
            "capacity_bytes",
            "ttl_s",
            "hit_tokens",
            "hit_ratio",
            "duplicate_writes",
            "hit_error_tokens",
        )
    }
    for size in sweep.sizes:
        distinct, first = np.unique(size.capacity_blocks, return_index=True)
        lifetimes, capacities = len(size.ttl_s), len(distinct)
        points = lifetimes * capacities
        blocks = np.tile(distinct, lifetimes)
        tokens = blocks * size.block_size
        hits = size.hit_tokens[:, first].reshape(-1)
        columns["block_size"] += [size.block_size] * points
        columns["capacity_blocks"] += blocks.tolist()
        columns["capacity_tokens"] += tokens.tolist()
        columns["capacity_bytes"] += (
            [None] * points if bytes_per_token is None else (tokens * bytes_per_token).tolist()
        )
        columns["ttl_s"] += [ttl for ttl in size.ttl_s for _ in range(capacities)]
        columns["hit_tokens"] += hits.tolist()
        columns["hit_ratio"] += (
            (hits / sweep.prompt_tokens).tolist() if sweep.prompt_tokens else [None] * points
        )
        columns["duplicate_writes"] += size.duplicate_writes[:, first].reshape(-1).tolist()
        error = size.hit_error_tokens
        columns["hit_error_tokens"] += (
            [None] * points if error is None else error[:, first].reshape(-1).tolist()
        )
    kinds = {"ttl_s": pa.float64(), "hit_ratio": pa.float64()}
    write_table(path, pa.table({n: pa.array(v, kinds.get(n, pa.int64())) for n, v in columns.items()}))


def write_requests(path: Path, trace: "Trace", run: "Run") -> None:
    """One row a request: request_id, prompt_tokens, hit_tokens, and the tokens of each miss class (empty where the
    class cannot be told from `cold`)."""
    import pyarrow as pa

    from simulators.miss_classes import MissClass

    classes = run.by_request
    known = classes.totals()
    columns = {
        "request_id": pa.array(trace.requests.request_id),
        "prompt_tokens": pa.array(classes.prompt_tokens()),
        "hit_tokens": pa.array(classes.tokens[MissClass.HIT]),
    }
    for kind, tokens in classes.tokens.items():
        if kind is not MissClass.HIT:
            unknown = known[kind] is None
            columns[f"{kind}_tokens"] = (
                pa.nulls(len(tokens), pa.int64()) if unknown else pa.array(tokens, pa.int64())
            )
    if run.replay is not None and run.replay.settings.replicas.count > 1:
        columns["replica"] = pa.array(run.replay.replica)
    write_table(path, pa.table(columns))
