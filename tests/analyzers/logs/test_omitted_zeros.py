"""Gemini leaves out what is zero; other formats do not."""

import json
from pathlib import Path

from analyzers.logs import read_log
from analyzers.logs.omitted_zeros import ZEROS


def gemini_row(number: int, cached: int | None) -> str:
    usage = {"promptTokenCount": 5000, "candidatesTokenCount": 5, "totalTokenCount": 5005}
    if cached is not None:
        usage["cachedContentTokenCount"] = cached
    request = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    return json.dumps(
        {
            "id": f"r{number}",
            "model": "gemini-2.5-flash",
            "request": request,
            "response": {"usageMetadata": usage},
        }
    )


def reads(path: Path, rows: list[str]) -> list[int | None]:
    path.write_text("\n".join(rows) + "\n")
    log = read_log([str(path)])
    assert (ZEROS in log.notes) == any(r.usage is not None and r.usage.read_tokens == 0 for r in log.requests)
    return [r.usage.read_tokens if r.usage else None for r in log.requests]


def test_a_row_without_the_count_says_zero_where_others_carry_it(tmp_path: Path) -> None:
    assert reads(tmp_path / "a.jsonl", [gemini_row(1, None), gemini_row(2, 4096)]) == [0, 4096]


def test_without_any_count_in_the_log_it_stays_unknown(tmp_path: Path) -> None:
    assert reads(tmp_path / "a.jsonl", [gemini_row(1, None), gemini_row(2, None)]) == [None, None]
