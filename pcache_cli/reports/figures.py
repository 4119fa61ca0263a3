"""The figures of a result by name, so that two runs can be set side by side."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import InputError
from pcache_cli.console import plain
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from simulators.latency import TtftSummary
    from simulators.runs import Run, Sweep

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Compared:
    """One figure in the earlier document and now; None where a side does not have it or does not know it."""

    name: str
    before: float | None
    now: float | None
    change: float | None


def figures_of_sweep(sweep: "Sweep") -> Figures:
    """Ratios to prompt tokens and capacities in tokens, by block size."""
    figures: Figures = {"requests": sweep.requests, "prompt_tokens": sweep.prompt_tokens}
    if sweep.error_ratio is not None:
        figures["error_ratio"] = sweep.error_ratio
    for size in sweep.sizes:
        b = f"block_{size.block_size}"
        total = sweep.prompt_tokens
        figures[f"{b}.unbounded_ratio"] = size.ceiling_tokens / total if total else None
        figures[f"{b}.best_ratio"] = int(size.hit_tokens.max(initial=0)) / total if total else None
        if size.hit_error_tokens is not None and total:
            best = int(size.hit_tokens.argmax())
            figures[f"{b}.best_error_ratio"] = int(size.hit_error_tokens.reshape(-1)[best]) / total
        figures[f"{b}.knee_tokens"] = size.knee_blocks * size.block_size
        figures[f"{b}.flat_tokens"] = None if size.flat_blocks is None else size.flat_blocks * size.block_size
    return figures


def figures_of_run(run: "Run", ttft: "TtftSummary | None") -> Figures:
    """Ratio, tokens by class, and times to first token where there is a calibration."""
    figures: Figures = {
        "requests": run.requests,
        "prompt_tokens": run.prompt_tokens,
        "hit_token_ratio": run.hit_token_ratio,
        "request_hit_ratio": run.requests_with_hits / run.requests if run.requests else None,
        "unbounded_hit_tokens": run.unbounded_hit_tokens,
    }
    figures |= {f"tokens.{kind}": tokens for kind, tokens in run.by_request.totals().items()}
    if ttft is not None:
        figures |= {"ttft_p50_s": ttft.p50_with_s, "ttft_p95_s": ttft.p95_with_s}
    return figures


def read_figures(path: Path) -> Figures:
    """The figures of an earlier run. Raises InputError for a file that is no JSON of `pcache simulate`."""
    try:
        document = json.loads(path.read_bytes())
        before = document["figures"] if document["command"] == "simulate" else None
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError):
        before = None
    if not isinstance(before, dict):
        raise InputError(f"{path} is no result of pcache simulate --json")
    return before


def compared(before: Figures, now: Figures) -> list[Compared]:
    """Every figure of either run."""
    rows = []
    for name in dict.fromkeys([*before, *now]):
        a, b = before.get(name), now.get(name)
        rows.append(Compared(name, a, b, None if a is None or b is None else b - a))
    return rows


def print_comparison(out: "Console", path: Path, rows: list[Compared]) -> None:
    """A table of both runs."""
    table = FittedTable(f"Beside {plain(str(path))}", "figure", "before", "now", "change")
    for row in rows:
        change = "" if row.change is None else f"{_figure(row.change)}"
        table.add_row(plain(row.name), _figure(row.before), _figure(row.now), change)
    out.print()
    out.print(table)


def _figure(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"
