"""The layout that a route's prompts should have: what changes least stands first.

How often a part really changes is read off the log, part by part: one value over the whole log (global), one a
release, day, tenant, user or session, another in every turn or in every request. Tools and schema stand in front
of the system prompt whatever the request says, so only what stands inside a part, or in messages, can move.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean

from analyzers.counterfactual_remedies import Remedy, Treatment, form_of, treatments_of
from analyzers.divergence import Change, Slot
from analyzers.divergences import Divergences
from analyzers.pipeline import TracedLog
from analyzers.reuse import conversations
from analyzers.slots import applications
from analyzers.trace import NO_TIME

SCOPES = ("global", "release", "day", "tenant", "user", "session", "turn", "request")
"""From what changes least to what changes most."""
MOST_ROUTES = 20
_HEADS = ("schema", "tools", "system")


@dataclass(frozen=True, slots=True)
class LayoutPart:
    """A part of a route's prompts: a section without what varies in it, or a value that varies.

    `slot` is the number of the slot that a value belongs to, None for a section. `tokens` is the mean length in
    a prompt, an estimate for values (by their share of the characters). `values` counts distinct contents.
    `now` and `proposed` are positions from 0.
    """

    name: str
    slot: int | None
    scope: str
    tokens: int
    values: int
    now: int
    proposed: int


@dataclass(frozen=True, slots=True)
class RouteLayout:
    """The parts of one route in the proposed order. `changed` says whether that differs from the order now."""

    route: str
    requests: int
    prompt_tokens: int
    parts: tuple[LayoutPart, ...]

    @property
    def changed(self) -> bool:
        return any(part.now != part.proposed for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    slot: int | None
    scope: str
    tokens: int
    values: int
    home: int
    """Index of the section it stands in; a value cannot stand in front of that section's stable text."""


def propose_layouts(
    traced: TracedLog,
    divergences: Divergences,
    slots: Sequence[Slot],
    treatments: Mapping[int, Treatment] | None = None,
) -> list[RouteLayout]:
    """The layouts of the routes with most prompt tokens that have two requests or more.

    A route is what the log calls so, else an application inferred from shared content. `treatments`: those of the
    slots by number, where they are known already.
    """
    rows: dict[str, list[int]] = {}
    for row, app in enumerate(applications(traced, divergences)):
        rows.setdefault(app, []).append(row)
    prompt = traced.trace.requests.prompt_tokens
    totals = {app: int(prompt[own].sum()) for app, own in rows.items() if len(own) > 1}
    largest = sorted(totals, key=lambda app: (-totals[app], app))[:MOST_ROUTES]
    treated = treatments_of(traced, divergences, slots) if treatments is None else treatments
    sections = _Sections(traced, divergences, treated)
    by_app: dict[str, list[Slot]] = {}
    for slot in slots:
        by_app.setdefault(slot.app, []).append(slot)
    return [
        RouteLayout(app, len(rows[app]), totals[app], _layout(sections, rows[app], by_app.get(app, [])))
        for app in largest
    ]


def scope_of(
    values: Sequence[tuple[int, Hashable]], groups: Sequence[tuple[str, Callable[[int], Hashable]]]
) -> str:
    """How often a part changes, from its value in each request, given as (row, value) in time order.

    The widest group whose requests all have one value; where no group explains it, "turn" when some requests in
    succession have the same value and "request" when hardly any have.
    """
    distinct = {value for _, value in values}
    if len(distinct) == 1:
        return "global"
    for name, group_of in groups:
        known: dict[Hashable, Hashable] = {}
        for row, value in values:
            group = group_of(row)
            if group is None or known.setdefault(group, value) != value:
                break
        else:
            if len(known) < len(values):
                return name
    return "request" if len(distinct) >= 0.9 * len(values) else "turn"


class _Sections:
    """What each request has in front of its messages, with what varies taken out."""

    def __init__(
        self, traced: TracedLog, divergences: Divergences, treatments: Mapping[int, Treatment]
    ) -> None:
        self.traced = traced
        self._comparer = divergences.comparer
        self._kind: dict[int, str] = {}
        self._spans: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._orders = {
            part
            for treatment in treatments.values()
            if treatment.remedy in (Remedy.SORT, Remedy.ONE_FORM)
            for part in treatment.parts
        }
        self.spans = {number: treatment.spans for number, treatment in treatments.items()}
        for spans in self.spans.values():
            for part, values in spans.items():
                for value in values:
                    self._spans.setdefault((part, value.segment), []).append((value.start, value.end))
        self._stable: dict[int, Hashable] = {}
        self.length = traced.sequences.length
        self.groups = _groups(traced)

    def of(self, row: int) -> list[tuple[str, int]]:
        """(section, part number) of the head of a request."""
        head = []
        for index, number in enumerate(self._comparer.parts(row)):
            kind = self._kind.get(number)
            if kind is None:
                path = self._comparer.paths(row)[index] if number < len(self.traced.parts) else ""
                kind = self._kind[number] = (
                    self._comparer.section(number, path) if number < len(self.traced.parts) else "ids"
                )
            if kind not in _HEADS:
                break
            head.append((kind, number))
        return head

    def stable(self, number: int) -> Hashable:
        """The content of a part without its values, and without its order."""
        known = self._stable.get(number)
        if known is None:
            texts = [
                self._without(number, index, segment.text)
                for index, segment in enumerate(self.traced.parts[number].segments)
            ]
            if number in self._orders:
                texts = sorted(map(form_of, texts))
            known = self._stable[number] = tuple(texts)
        return known

    def _without(self, number: int, index: int, text: str) -> str:
        for start, end in sorted(self._spans.get((number, index), ()), reverse=True):
            text = text[:start] + text[end:]
        return text


def _layout(sections: _Sections, rows: Sequence[int], slots: Iterable[Slot]) -> tuple[LayoutPart, ...]:
    heads: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        for kind, number in sections.of(row):
            heads.setdefault(kind, []).append((row, number))
    found: list[_Found] = []
    kinds = [kind for kind in _HEADS if kind in heads]
    for home, kind in enumerate(kinds):
        held = heads[kind]
        values = [(row, sections.stable(number)) for row, number in held]
        lengths = {number: int(sections.length[number]) for _, number in held}
        tokens = fmean(lengths[number] for _, number in held)
        inside = [_value(sections, slot, held, home) for slot in slots if slot.change is Change.TEXT]
        varying = [value for value in inside if value is not None]
        tokens -= sum(value.tokens for value, _ in varying)
        scope = scope_of(values, sections.groups)
        section = _Found(kind, None, scope, round(tokens), len({v for _, v in values}), home)
        # A value in the first half of the text strands what stands behind it.
        found += [value for value, place in varying if place < 0.5]
        found.append(section)
        found += [value for value, place in varying if place >= 0.5]
    now = {id(part): index for index, part in enumerate(found)}
    order = sorted(found, key=lambda part: _position(part, len(kinds)))
    history = len(found)
    parts = [
        LayoutPart(p.name, p.slot, p.scope, p.tokens, p.values, now[id(p)], position)
        for position, p in enumerate(order)
    ]
    # The messages stand behind whatever lasts a conversation and in front of what changes inside one.
    behind = sum(SCOPES.index(p.scope) > SCOPES.index("session") and p.slot is not None for p in order)
    first_behind = len(parts) - behind
    moved = [p if p.proposed < first_behind else _shifted(p) for p in parts]
    messages = LayoutPart(
        "messages", None, "turn", _messages(sections, rows), len(rows), history, first_behind
    )
    return tuple(sorted([*moved, messages], key=lambda p: p.proposed))


def _shifted(part: LayoutPart) -> LayoutPart:
    return LayoutPart(part.name, part.slot, part.scope, part.tokens, part.values, part.now, part.proposed + 1)


def _position(part: _Found, sections: int) -> tuple[int, int, int]:
    """Sections in their order; behind each, its values by how seldom they change; what changes within a
    conversation last."""
    if part.slot is None:
        return part.home, 0, 0
    rank = SCOPES.index(part.scope)
    home = part.home if rank <= SCOPES.index("session") else sections
    return home, 1, rank


def _value(
    sections: _Sections, slot: Slot, held: Sequence[tuple[int, int]], home: int
) -> tuple[_Found, float] | None:
    """A slot as a part of its section, and where in the section's text it stands (0 to 1); None if elsewhere."""
    values: list[tuple[int, Hashable]] = []
    tokens, places = [], []
    for row, number in held:
        spans = sections.spans[slot.number].get(number)
        if not spans:
            continue
        characters = sum(len(segment.text) for segment in sections.traced.parts[number].segments)
        values.append((row, tuple(span.text for span in spans)))
        tokens.append(
            sections.length[number] * sum(span.end - span.start for span in spans) / max(1, characters)
        )
        places.append(spans[0].start / max(1, characters))
    if not values:
        return None
    name = str(slot.kind or slot.change)
    scope = slot.scope or scope_of(values, sections.groups)
    found = _Found(name, slot.number, scope, round(fmean(tokens)), len({v for _, v in values}), home)
    return found, fmean(places)


def _messages(sections: _Sections, rows: Sequence[int]) -> int:
    prompt = sections.traced.trace.requests.prompt_tokens
    heads = (sum(int(sections.length[number]) for _, number in sections.of(row)) for row in rows)
    return round(fmean(int(prompt[row]) - head for row, head in zip(rows, heads, strict=True)))


def _groups(traced: TracedLog) -> Sequence[tuple[str, Callable[[int], Hashable]]]:
    table, requests = traced.trace.requests, traced.log.requests
    talks = conversations(traced.trace).tolist()

    def release(row: int) -> Hashable:
        labels = dict(requests[row].identity.labels)
        return next((labels[n] for n in ("client_version", "version", "release") if n in labels), None)

    def day(row: int) -> Hashable:
        time = int(table.time_ns[row])
        return None if time == NO_TIME else datetime.fromtimestamp(time / 1e9, UTC).date()

    return (
        ("release", release),
        ("day", day),
        ("tenant", table.tenant.of),
        ("user", lambda row: requests[row].identity.user),
        ("session", lambda row: talks[row]),
    )
