"""Small logs written out and read back."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analyzers.logs import read_log
from analyzers.request import Log, Request


def read_rows(folder: Path, *rows: Any, name: str = "log.jsonl", **options: Any) -> Log:
    """The log of rows written one a line; text is written as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / name).write_text("".join(line + "\n" for line in lines))
    return read_inputs(folder / name, **options)


def read_inputs(*inputs: Path | str, **options: Any) -> Log:
    """The log of files that were written before, every record of them accounted for."""
    log = read_log([str(path) for path in inputs], **options)
    assert log.records == len(log.requests) + log.merged + sum(log.skipped.values())
    return log


def sent(request: Request) -> list[Any]:
    """The parts of a prompt as values."""
    return [part.value() for part in request.parts]


def raw_parts(request: Request) -> list[tuple[str, str]]:
    """Kind and raw text of each part."""
    return [(part.kind.value, part.raw.decode()) for part in request.parts]


def answered(request: Request) -> Any:
    assert request.output is not None
    return json.loads(request.output.raw)


def ids(request: Request) -> list[int]:
    """The token or block ids of a prompt."""
    raw = b"".join(part.raw for part in request.parts)
    return [int.from_bytes(raw[i : i + 4], "little") for i in range(0, len(raw), 4)]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def without(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
