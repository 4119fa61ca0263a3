"""One row a request, as CSV or Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.errors import InputError
from analyzers.trace import MISSING, NO_TIME

if TYPE_CHECKING:
    from analyzers.reuse import RequestReuse
    from analyzers.trace import Trace


def write_request_table(path: Path, trace: "Trace", reuse: "RequestReuse") -> None:
    """Write request_id, time, model, session, prompt_tokens, reusable_tokens, its classes and the logged reads."""
    import numpy as np
    import pyarrow as pa

    table = trace.requests
    ids = table.request_id
    time = pa.array(table.time_ns, mask=table.time_ns == NO_TIME).cast(pa.timestamp("ns", tz="UTC"))
    namespaces = [trace.info.namespaces[code] for code in table.namespace.tolist()]
    source = [None if s < 0 else ids[s] for s in reuse.source.tolist()]

    def known(values: Any) -> Any:
        return pa.array(np.asarray(values, np.int64), mask=values == MISSING)

    columns = {
        "request_id": pa.array(ids),
        "time": time,
        "namespace": pa.array(namespaces),
        "model": pa.array([table.model.of(r) for r in range(len(trace))], pa.string()),
        "session": pa.array([table.session.of(r) for r in range(len(trace))], pa.string()),
        "conversation": pa.array(reuse.conversation),
        "prompt_tokens": pa.array(reuse.prompt),
        "output_tokens": known(table.output_tokens),
        "reusable_tokens": pa.array(reuse.reusable),
        "same_conversation_tokens": known(reuse.same_conversation),
        "across_conversations_tokens": known(reuse.across_conversations),
        "seen_elsewhere_tokens": known(reuse.seen_elsewhere),
        "new_tokens": known(reuse.new),
        "reused_from": pa.array(source, pa.string()),
        "logged_prompt_tokens": known(table.usage_prompt),
        "logged_read_tokens": known(table.usage_read),
        "logged_written_tokens": known(table.usage_written),
    }
    write_table(path, pa.table(columns))


def write_table(path: Path, table: Any) -> None:
    """Write an Arrow table by the file's ending: .csv (cells cannot become formulas) or .parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(_without_formulas(table), path)
        else:
            pyarrow.parquet.write_table(table, path, compression="zstd")
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from problem


def _without_formulas(table: Any) -> Any:
    """Text cells that a spreadsheet would run as a formula get a quote in front."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, column in enumerate(table.schema):
        if column.type == pa.string():
            safe = pc.replace_substring_regex(table.column(i), r"^([=+\-@\t\r])", r"'\1")
            table = table.set_column(i, column, safe)
    return table
