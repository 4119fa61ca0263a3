"""A log under its providers' cache rules, for people, for JSON and for files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.trace import Trace
    from pcache_cli.reports.figures import Figures
    from simulators.providers.replay import Replay


@dataclass(frozen=True)
class ProviderSummary:
    """Totals over the requests that rules cover, in the providers' count of tokens. `written` by lifetime in
    seconds; `why` counts requests by the reason they read no more; `logged_read` is over the rows that state it."""

    rules: tuple[str, ...]
    requests: int
    covered: int
    prompt_tokens: int
    read_tokens: int
    read_ratio: float | None
    written_tokens: dict[int, int]
    logged_read_tokens: int | None
    verdicts: dict[str, int]
    why: dict[str, int]
    notes: tuple[str, ...]


def provider_summary(trace: "Trace", result: "Replay") -> ProviderSummary:
    """The totals of a provider replay."""
    from collections import Counter

    covered = result.read >= 0
    prompt, read = int(result.prompt[covered].sum()), int(result.read[covered].sum())
    logged = trace.requests.usage_read[covered]
    stated = logged[logged >= 0]
    return ProviderSummary(
        rules=tuple(f"{rules.title}: {rules.model}" for rules in result.rules),
        requests=len(trace),
        covered=int(covered.sum()),
        prompt_tokens=prompt,
        read_tokens=read,
        read_ratio=read / prompt if prompt else None,
        written_tokens={ttl: int(tokens[covered].sum()) for ttl, tokens in result.written.items()},
        logged_read_tokens=int(stated.sum()) if len(stated) else None,
        verdicts={str(verdict): n for verdict, n in sorted(result.counts().items())},
        why={str(why): n for why, n in sorted(Counter(w for w in result.why if w is not None).items())},
        notes=tuple(result.notes),
    )


def figures_of_provider(summary: ProviderSummary) -> "Figures":
    """What two replays are compared by."""
    return {
        "requests": summary.requests,
        "prompt_tokens": summary.prompt_tokens,
        "read_ratio": summary.read_ratio,
        "read_tokens": summary.read_tokens,
        "written_tokens": sum(summary.written_tokens.values()),
    }


def print_provider(out: "Console", summary: ProviderSummary) -> None:
    """The verdict, then why requests read no more."""
    from rich.box import SIMPLE
    from rich.table import Table

    out.print(
        f"By the providers' rules {percent(summary.read_ratio)} of {count(summary.prompt_tokens)} prompt tokens are "
        f"read from cache; the log states {count(summary.logged_read_tokens)} read tokens."
    )
    for rules in summary.rules:
        out.print(plain(rules), style="dim")
    for ttl, tokens in summary.written_tokens.items():
        out.print(f"written for {ttl} s: {count(tokens)} tokens")
    for title, counts in (("Why requests read no more", summary.why), ("Beside the log", summary.verdicts)):
        table = Table(title=title, box=SIMPLE, title_justify="left", show_header=False)
        table.add_column()
        table.add_column(justify="right")
        for name, number in counts.items():
            table.add_row(plain(name), count(number))
        out.print(table)
    for note in summary.notes:
        out.print(f"note: {plain(note)}", style="dim")


def write_provider_requests(path: Path, trace: "Trace", result: "Replay") -> None:
    """One row a request: request_id, prompt_tokens, hit_tokens, written_tokens, why, verdict."""
    import pyarrow as pa

    from pcache_cli.reports.request_table import write_table

    unknown = result.read < 0
    columns = {
        "request_id": pa.array(trace.requests.request_id),
        "prompt_tokens": pa.array(result.prompt, mask=unknown),
        "hit_tokens": pa.array(result.read, mask=unknown),
        "written_tokens": pa.array(result.written_total, mask=unknown),
        "why": pa.array([None if w is None else str(w) for w in result.why], pa.string()),
        "verdict": pa.array([str(v) for v in result.verdicts], pa.string()),
    }
    write_table(path, pa.table(columns))
