"""The bill of every request as a table file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzers.trace import Trace
    from simulators.cost import PricedRow


def write_cost_table(path: Path, trace: "Trace", rows: Sequence["PricedRow"]) -> None:
    """One row a request: request_id, model, tokens by kind, paid, currency, and why a bill is not known.

    Money is text, so that no digit is lost. Raises UsageError for another ending than .csv or .parquet.
    """
    import pyarrow as pa

    from pcache_cli.reports.request_table import write_table

    known = [row if row.unknown is None else None for row in rows]
    tokens = [None if row is None else row.tokens for row in known]
    bills = [
        None if row is None or not row.rates or not row.tokens else row.rates.cost(row.tokens)
        for row in known
    ]
    columns = {
        "request_id": trace.requests.request_id,
        "model": [trace.requests.model.of(row.row) for row in rows],
        "uncached_tokens": [None if t is None else t.uncached for t in tokens],
        "read_tokens": [None if t is None else t.read for t in tokens],
        "written_tokens": [None if t is None else sum(t.written.values()) for t in tokens],
        "output_tokens": [None if t is None else t.output for t in tokens],
        "paid": [None if bill is None else f"{bill.total:f}" for bill in bills],
        "currency": [None if bill is None else bill.currency for bill in bills],
        "unknown": [row.unknown for row in rows],
    }
    write_table(path, pa.table(columns))
