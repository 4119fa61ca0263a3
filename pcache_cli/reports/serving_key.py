"""The logical key of a serving manifest, and two manifests compared: for people and for scripts."""

import json
from typing import TYPE_CHECKING, Any

from analyzers.serving_key import Comparison, Difference, Entry, ServingKey, Verdict
from pcache_cli.console import plain
from pcache_cli.reports.as_json import document
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 40


def print_key(console: "Console", key: ServingKey) -> None:
    """The key, what takes part and why, what need not, what is missing."""
    if key.digest is not None:
        console.print(f"Logical key: {key.digest}", style="bold", soft_wrap=True)
    else:
        names = ", ".join(field.name for field in key.missing)
        console.print(f"No key yet: the manifest does not say {names}.", style="bold", soft_wrap=True)
    _print_table(
        console,
        "Takes part",
        [(e.field.name, _shown(e), e.field.reason.value, e.field.why) for e in key.takes_part],
    )
    _print_table(
        console,
        "Missing (write null where there is none)",
        [(field.name, "", field.reason.value, field.why) for field in key.missing],
    )
    _print_table(
        console, "Need not take part", [(e.field.name, _shown(e), "", e.field.why) for e in key.need_not]
    )
    _print_table(
        console,
        "Not known, left out",
        [(path, "", "", "no field of this name is known: add it to the salt if the KV depends on it")
         for path, _ in key.unjudged],
    )  # fmt: skip


def print_comparison(console: "Console", comparison: Comparison) -> None:
    """The verdict and every difference."""
    forbidding = [d.name for d in comparison.differences if d.forbids]
    open_ = [d.name for d in comparison.differences if d.forbids is None]
    match comparison.verdict:
        case Verdict.MAY:
            line = "They may share: no difference forbids it."
        case Verdict.MUST_NOT:
            line = f"They must not share a cache: they differ in {', '.join(forbidding)}."
        case Verdict.UNKNOWN:
            line = f"Whether they may share cannot be told: {', '.join(open_)} must be known first."
    console.print(plain(line), style="bold", soft_wrap=True)
    for title, wanted in (
        ("Forbids sharing", True),
        ("Cannot be told", None),
        ("Does not matter", False),
    ):
        rows = [d for d in comparison.differences if d.forbids is wanted]
        _print_table(console, title, [(d.name, "", _reason(d) if wanted else "", d.why) for d in rows])


def key_document(key: ServingKey) -> dict[str, Any]:
    """The key as one JSON document. Values are not repeated."""
    return document("key", **_key_value(key))


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Two manifests compared, as one JSON document."""
    return document(
        "key",
        verdict=comparison.verdict,
        may_share={Verdict.MAY: True, Verdict.MUST_NOT: False}.get(comparison.verdict),
        differences=comparison.differences,
        key=_key_value(comparison.key),
        other=_key_value(comparison.other),
    )


def _key_value(key: ServingKey) -> dict[str, Any]:
    return {
        "key": key.digest,
        "takes_part": [
            {"field": e.field.name, "reason": e.field.reason, "why": e.field.why} for e in key.takes_part
        ],
        "need_not": [{"field": e.field.name, "why": e.field.why} for e in key.need_not],
        "missing": [{"field": f.name, "reason": f.reason, "why": f.why} for f in key.missing],
        "unjudged": [path for path, _ in key.unjudged],
    }


def _print_table(console: "Console", title: str, rows: list[tuple[str, str, str, str]]) -> None:
    if not rows:
        return
    table = FittedTable(title, "", "", "", "", text=(0, 1, 2, 3), head=2)
    for row in rows:
        table.add_row(*map(plain, row))
    console.print()
    console.print(table)


def _reason(difference: Difference) -> str:
    return "" if difference.reason is None else difference.reason.value


def _shown(entry: Entry) -> str:
    text = entry.value if isinstance(entry.value, str) else json.dumps(entry.value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
