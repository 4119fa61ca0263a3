"""Differences over a whole log become slots: one place that varies, its values, and how often they change."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from analyzers.divergence import Change, Difference, Divergence, Slot, Value, ValueKind
from analyzers.divergences import Divergences
from analyzers.pipeline import TracedLog
from analyzers.trace import NO_TIME
from analyzers.values import kind_of_values, names_somebody

_SAMPLE = 40
"""Values that are looked at to name a slot."""
_LEFT = 200
"""Characters in front of a value that are looked at to name it."""


@dataclass
class _Group:
    app: str
    change: Change
    path: str
    anchor: str
    divergences: list[Divergence] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    first_in: int = 0


def find_slots(traced: TracedLog, divergences: Divergences) -> list[Slot]:
    """The slots of a log, those that break most tokens first."""
    apps = applications(traced, divergences)
    groups: dict[Hashable, _Group] = {}
    for divergence in divergences.found:
        seen: set[Hashable] = set()
        for index, difference in enumerate(divergence.differences):
            anchor = _anchor(traced, difference)
            app = apps[divergence.request]
            path = "tools" if difference.section == "tools" else pattern_of(difference.path)
            key = (app, difference.change, path, anchor)
            group = groups.setdefault(key, _Group(app, difference.change, path, anchor))
            if key not in seen:
                seen.add(key)
                group.divergences.append(divergence)
                group.differences.append(difference)
                group.first_in += index == 0
    by_content = _parts_by_content(traced, divergences)
    slots = [
        _slot(number, group, traced, divergences, by_content)
        for number, group in enumerate(groups.values())
        if group.first_in or len(group.divergences) > 1
    ]
    return sorted(slots, key=lambda slot: (-lost_first(slot), slot.number))


def lost_first(slot: Slot) -> int:
    """Tokens lost in the requests whose prefix this slot breaks first."""
    pairs = zip(slot.divergences, slot.differences, strict=True)
    return sum(d.lost for d, difference in pairs if d.differences[0] is difference)


def pattern_of(path: str) -> str:
    """The path of a place that is the same in every request: the place of a message in the history left out,
    except for the first, which the conversation starts with."""
    return re.sub(r"^(messages|input|contents)\[[1-9]\d*\]", r"\1[*]", path)


def _anchor(traced: TracedLog, difference: Difference) -> str:
    """The stable text to the left of a value: the line before it and the label on its own line."""
    value = difference.after or difference.before
    if value is None or difference.change is not Change.TEXT:
        return ""
    text = traced.parts[value.part].segments[value.segment].text
    line = text.rfind("\n", 0, value.start) + 1
    label = text[line : value.start]
    label = re.split(r"[;,|]", label[: max(label.rfind(":"), label.rfind("=")) + 1] or label)[-1]
    above = text[max(0, line - 40) : max(0, line - 1)].rpartition("\n")[2]
    return "\n".join("".join("#" if c.isdigit() else c for c in part) for part in (above, label[-40:]))


def _parts_by_content(traced: TracedLog, divergences: Divergences) -> dict[int, list[int]]:
    numbers: dict[int, list[int]] = defaultdict(list)
    for number, content in enumerate(divergences.comparer.content):
        numbers[content].append(number)
    return numbers


def applications(traced: TracedLog, divergences: Divergences) -> list[str]:
    """The route of each request, else the first request it shares most content with, over all steps back."""
    table = traced.trace.requests
    names: list[str] = []
    predecessor = divergences.continuations.predecessor.tolist()
    shared = divergences.continuations.shared.tolist()
    prompt = traced.sequences.totals().tolist()
    for row, against in enumerate(predecessor):
        route = table.route.of(row)
        if route is not None:
            names.append(route)
        elif against >= 0 and 4 * shared[row] >= min(prompt[row], prompt[against]):
            names.append(names[against])
        else:
            names.append(f"as {table.request_id[row]}")
    return names


def _slot(
    number: int,
    group: _Group,
    traced: TracedLog,
    divergences: Divergences,
    by_content: dict[int, list[int]],
) -> Slot:
    values: dict[str, str] = {}
    spans: dict[int, dict[tuple[int, int, int], Value]] = defaultdict(dict)
    content = divergences.comparer.content
    for difference in group.differences:
        for value in (difference.before, difference.after):
            if value is None:
                continue
            if value.text not in values:
                text = traced.parts[value.part].segments[value.segment].text
                values[value.text] = text[max(0, value.start - _LEFT) : value.start]
            for part in by_content[content[value.part]]:
                place = Value(part, value.segment, value.start, value.end, value.text)
                spans[part][value.segment, value.start, value.end] = place
    scope = _scope(group, traced, divergences) if len(values) > 1 else None
    kind = None
    if group.change is Change.TEXT:
        kind = kind_of_values(list(values.items())[:_SAMPLE])
        whose = scope in ("user", "tenant") or (scope == "session" and names_somebody(group.anchor))
        if kind is ValueKind.RANDOM_ID and whose:
            kind = ValueKind.IDENTITY
        if kind is ValueKind.COUNTER and scope is not None and scope != "request":
            kind = ValueKind.OTHER  # a setting: a counter would change within a session
        if kind is ValueKind.DATE:
            scope = scope or "day"
    return Slot(
        number=number,
        app=group.app,
        change=group.change,
        kind=kind,
        section=group.differences[0].section,
        path=group.path,
        anchor=group.anchor,
        divergences=tuple(group.divergences),
        differences=tuple(group.differences),
        values=tuple(values),
        spans={part: tuple(found.values()) for part, found in sorted(spans.items())},
        scope=scope,
        first_in=group.first_in,
    )


def _scope(group: _Group, traced: TracedLog, divergences: Divergences) -> str | None:
    """The widest group of requests within which the value of a slot stays the same."""
    after = {
        d.request: difference.after.text
        for d, difference in zip(group.divergences, group.differences, strict=True)
        if difference.after is not None
    }
    if not after:
        return None
    before = {
        d.against: difference.before.text
        for d, difference in zip(group.divergences, group.differences, strict=True)
        if difference.before is not None
    }
    value_of: dict[int, str] = {}
    predecessor = divergences.continuations.predecessor
    for row in range(min(min(after), min(before, default=0)), len(traced.trace)):
        if row in after:
            value_of[row] = after[row]
        elif row in before:
            value_of[row] = before[row]
        elif int(predecessor[row]) in value_of:
            value_of[row] = value_of[int(predecessor[row])]
    for name, group_of in _groupings(traced):
        if _explains(value_of, group_of):
            return name
    requests = len(value_of)
    return "request" if len(after) > 1 and len(after) >= 0.9 * (requests - 1) else None


def _groupings(traced: TracedLog) -> Sequence[tuple[str, Callable[[int], Hashable]]]:
    """The groups a value may follow, the widest first."""
    table, requests = traced.trace.requests, traced.log.requests

    def label(*names: str) -> Callable[[int], Hashable]:
        def of(row: int) -> Hashable:
            labels = dict(requests[row].identity.labels)
            return next((labels[name] for name in names if name in labels), None)

        return of

    def day(row: int) -> Hashable:
        time = int(table.time_ns[row])
        return None if time == NO_TIME else datetime.fromtimestamp(time / 1e9, UTC).date()

    return (
        ("release", label("client_version", "version", "release")),
        ("day", day),
        ("tenant", lambda row: table.tenant.of(row)),
        ("user", lambda row: requests[row].identity.user),
        ("session", lambda row: table.session.of(row)),
    )


def _explains(value_of: dict[int, str], group_of: Callable[[int], Hashable]) -> bool:
    """Whether every group has one value, several groups have one each, and some group has several requests."""
    known: dict[Hashable, str] = {}
    repeated = False
    for row, value in value_of.items():
        group = group_of(row)
        if group is None:
            return False
        if group in known:
            repeated = True
            if known[group] != value:
                return False
        known[group] = value
    return repeated and len(set(known.values())) > 1
