"""The breakers of a log for people and for scripts: what to do first, what it brings, the layout to aim at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from analyzers.breakers import Breaker
from analyzers.counterfactual import Counterfactual, Recovered
from analyzers.layout import LayoutPart, RouteLayout
from analyzers.study import Study
from pcache_cli.console import plain
from pcache_cli.reports.as_json import plain_value
from pcache_cli.reports.findings_json import finding_value
from pcache_cli.reports.isolation import print_isolation
from pcache_cli.reports.numbers import count, counted, percent
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.findings import Finding
    from analyzers.trace import TraceInfo

_ADVICE = 3
_ROWS = 15
_LAYOUTS = 5


def advice(study: Study) -> list[str]:
    """The three things most worth doing, each with what it brings."""
    lines: list[str] = []
    for breaker in study.breakers:
        finding = breaker.finding
        if finding.fix is None or not (finding.gain or finding.tokens_lost):
            continue
        if finding.gain is not None:
            share = percent(finding.gain.tokens / study.outcome.prompt_tokens)
            brings = f"{count(finding.gain.tokens)} tokens more from cache ({share} of all), proven by replay"
        else:
            brings = f"{count(finding.tokens_lost)} tokens are lost to it"
        lines.append(f"{finding.fix.advice.rstrip('.')} ({finding.rule}, {_place(finding)}): {brings}.")
        if len(lines) == _ADVICE:
            break
    return lines


def print_study(console: "Console", study: Study, info: "TraceInfo") -> None:
    """Breakers, layouts, and who shares with whom."""
    if study.breakers:
        _print_breakers(console, study.breakers, study.outcome)
    elif info.holds_text:
        console.print("\nNothing breaks the prefix: no part of the prompts varies where it costs.")
    else:
        console.print(f"\nWhat breaks the prefix is unknown: {plain(info.tokenizer_note)}.")
    _print_layouts(console, study.layouts)
    print_isolation(console, study.namespaces, study.crossings)


def study_value(study: Study, show_text: bool = False) -> dict[str, Any]:
    """Breakers, all fixes together, layouts and isolation as JSON values; quoted prompt text only with `show_text`."""
    return {
        "breakers": [_breaker_value(breaker, study.outcome, show_text) for breaker in study.breakers],
        "fixes_together": _together(study.outcome),
        "layouts": _layouts_value(study.layouts),
        "namespace_choices": study.namespaces,
        "boundary_crossings": [
            {**plain_value(crossing), "common": crossing.common} for crossing in study.crossings
        ],
    }


def _print_breakers(console: "Console", breakers: Sequence[Breaker], outcome: Counterfactual) -> None:
    """The table of breakers with what each fix brings, alone and behind the larger ones."""
    table = FittedTable(
        "What breaks the prefix",
        "rule",
        "what and where",
        "changes",
        "requests",
        "lost",
        "fix brings",
        "after the ones above",
        text=(0, 1, 2),
        head=2,
    )
    for breaker in breakers[:_ROWS]:
        finding, recovered = breaker.finding, _recovered(breaker, outcome)
        table.add_row(
            finding.rule,
            plain(finding.message.partition(": ")[0]),
            plain(finding.evidence.scope or "-"),
            count(len(breaker.requests)),
            "-" if finding.tokens_lost is None else count(finding.tokens_lost),
            "-" if finding.gain is None else count(finding.gain.tokens),
            _behind_the_others(recovered),
        )
    if len(breakers) > _ROWS:
        table.add_row("", f"… {len(breakers) - _ROWS} more (--json lists all)", "", "", "", "", "")
    console.print()
    console.print(table)
    if outcome.gain_tokens > 0:
        console.print(
            f"All fixes together: {count(outcome.gain_tokens)} tokens more from cache; "
            f"{count(outcome.reusable_tokens_after)} of {count(outcome.prompt_tokens_after)} prompt tokens "
            "would be reusable, each proven by playing the log again."
        )
    for caveat in _caveats(breakers, outcome):
        console.print(f"  {plain(caveat)}", style="dim")


def _print_layouts(console: "Console", layouts: Sequence[RouteLayout]) -> None:
    """For each route whose order should change: the order, with how often each part changes."""
    changed = [layout for layout in layouts if layout.changed]
    if not changed:
        return
    console.print("\nProposed layout: what changes least first", style="bold")
    for layout in changed[:_LAYOUTS]:
        console.print(f"  {plain(layout.route)} ({counted(layout.requests, 'request')})")
        for part in layout.parts:
            console.print(f"    {_layout_part(part)}")
    if len(changed) > _LAYOUTS:
        console.print(f"  … {len(changed) - _LAYOUTS} more (--json lists all)")


def _breaker_value(breaker: Breaker, outcome: Counterfactual, show_text: bool) -> dict[str, Any]:
    """The finding, and what the replay proved."""
    recovered = _recovered(breaker, outcome)
    return {
        **finding_value(breaker.finding, show_text),
        "requests": len(breaker.requests),
        "gain_tokens": None if recovered is None else recovered.gain_tokens,
        "marginal_gain_tokens": None if recovered is None else recovered.marginal_gain_tokens,
        "proven": recovered is not None,
        "remedy": None if recovered is None else recovered.remedy.value,
        "moved_tokens": None if recovered is None else recovered.moved_tokens,
        "added_tokens": None if recovered is None else recovered.added_tokens,
        "caveats": [] if recovered is None else list(recovered.caveats),
    }


def _together(outcome: Counterfactual) -> dict[str, Any]:
    """All fixes together as a JSON value."""
    return {
        "gain_tokens": outcome.gain_tokens,
        "reusable_tokens_after": outcome.reusable_tokens_after,
        "prompt_tokens_after": outcome.prompt_tokens_after,
        "breakers_played": len(outcome.recovered),
        "breakers_not_played": len(outcome.not_played),
    }


def _layouts_value(layouts: Sequence[RouteLayout]) -> list[dict[str, Any]]:
    """The proposed layouts as JSON values."""
    return [
        {
            "route": layout.route,
            "requests": layout.requests,
            "prompt_tokens": layout.prompt_tokens,
            "changed": layout.changed,
            "parts": plain_value(layout.parts),
        }
        for layout in layouts
    ]


def _recovered(breaker: Breaker, outcome: Counterfactual) -> Recovered | None:
    return None if breaker.slot is None else outcome.of(breaker.slot.number)


def _place(finding: "Finding") -> str:
    place = finding.location
    return place.json_path or finding.subject or f"{place.path}:{place.line}"


def _caveats(breakers: Sequence[Breaker], outcome: Counterfactual) -> list[str]:
    by_caveat: dict[str, list[str]] = {}
    for breaker in breakers:
        recovered = _recovered(breaker, outcome)
        if recovered is not None and recovered.gain_tokens > 0:
            for caveat in recovered.caveats:
                rules = by_caveat.setdefault(caveat, [])
                if breaker.finding.rule not in rules:
                    rules.append(breaker.finding.rule)
    return [f"{', '.join(rules)}: {caveat}." for caveat, rules in by_caveat.items()]


def _layout_part(part: LayoutPart) -> str:
    moved = "  <- moves" if part.slot is not None and part.now != part.proposed else ""
    return f"{part.proposed + 1}. {plain(part.name):16} {part.scope:8} about {counted(part.tokens, 'token')}{moved}"


def _behind_the_others(recovered: Recovered | None) -> str:
    if recovered is None:
        return "-"
    return count(recovered.marginal_gain_tokens) if recovered.marginal_gain_tokens > 0 else "nothing"
