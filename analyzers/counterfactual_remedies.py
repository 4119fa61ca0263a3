"""What would take a breaker out: the text to move, the form or order to keep, the history to leave alone."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from analyzers.comparison import Comparer
from analyzers.counterfactual_places import places_of
from analyzers.divergence import Change, Slot, Value
from analyzers.divergences import Divergences
from analyzers.pipeline import TracedLog
from analyzers.rendering import RenderedPart, Segment
from analyzers.slots import applications
from analyzers.text_changes import Span
from analyzers.trace import Int64


class Remedy(StrEnum):
    """What is done to the requests of a log in the replay of a fix."""

    MOVE_TO_NEWEST = "move it behind everything that stays, into the newest turn"
    MOVE_BEHIND_PART = "move it to the end of the part it stands in"
    ONE_FORM = "write it in one form"
    SORT = "keep one order"
    KEEP_TOOLS = "send the same tools in every request"
    KEEP_FIRST = "send the same schema in every request"
    KEEP_HISTORY = "leave what was sent as it was, and append"


_ONE_FORM = (Change.KEY_ORDER, Change.ARGUMENTS, Change.WHITE_SPACE, Change.UNICODE_FORM, Change.LINE_ENDS)
_TOOLS = (Change.TOOLS_ADDED, Change.TOOLS_REMOVED, Change.TOOL_CHANGED)
_HISTORY = (
    Change.MESSAGES_DROPPED,
    Change.MESSAGES_REMOVED,
    Change.MESSAGES_INSERTED,
    Change.RESULT_CLEARED,
    Change.TRUNCATED,
    Change.BLOCK_MOVED,
    Change.BLOCK_REMOVED,
    Change.BLOCK_ADDED,
    Change.IMAGE_REPLACED,
    Change.REASONING_STRIPPED,
    Change.ROLE,
)
_STAYS_IN_A_CONVERSATION = ("release", "day", "tenant", "user", "session")
LAST_RANK = len(_STAYS_IN_A_CONVERSATION)
"""The rank of what comes back for no reason that the log shows."""
_HEADS = ("schema", "tools", "system")


@dataclass(frozen=True, slots=True)
class Treatment:
    """A remedy and where it applies.

    `spans`: text that is taken out of rendered parts, by part number. `parts`: numbers of the parts that are
    sorted, brought into one form or replaced. `rows`: requests whose history is left as the earlier request had it.
    `rank` puts what moves to the end of a part in order: what changes least comes first.
    """

    remedy: Remedy
    spans: dict[int, tuple[Value, ...]] = field(default_factory=dict)
    parts: frozenset[int] = frozenset()
    rows: frozenset[int] = frozenset()
    rank: int = 0

    @property
    def touched(self) -> Iterable[int]:
        """Numbers of the parts that it changes."""
        return self.spans.keys() | self.parts


def treatments_of(traced: TracedLog, divergences: Divergences, slots: Iterable[Slot]) -> dict[int, Treatment]:
    """The treatment of each slot that has one, by the slot's number."""
    own = _parts_by_application(traced, divergences)
    found = {s.number: _treatment(s, traced, divergences.comparer, own.get(s.app, [])) for s in slots}
    return {number: treatment for number, treatment in found.items() if treatment is not None}


def _parts_by_application(traced: TracedLog, divergences: Divergences) -> dict[str, list[RenderedPart]]:
    """The distinct parts that the requests of each application have, in order of number."""
    runs, offsets = traced.sequences.runs, traced.sequences.offsets
    numbers: dict[str, list[Int64]] = {}
    for row, app in enumerate(applications(traced, divergences)):
        numbers.setdefault(app, []).append(runs[offsets[row] : offsets[row + 1]])
    return {
        app: [traced.parts[n] for n in np.unique(np.concatenate(own)).tolist() if n < len(traced.parts)]
        for app, own in numbers.items()
    }


def _treatment(
    slot: Slot, traced: TracedLog, comparer: Comparer, own: Sequence[RenderedPart]
) -> Treatment | None:
    """How the breaker of a slot is taken out of the parts `own` of its application; None where there is nothing a
    replay could do (a compaction that was meant, a template or tokenizer that gives other ids)."""
    change, parts = slot.change, traced.parts
    forms: dict[int, str] = {}
    if change is Change.TEXT:
        spans = places_of(slot, parts, own)
        if slot.scope in _STAYS_IN_A_CONVERSATION:
            rank = _STAYS_IN_A_CONVERSATION.index(slot.scope)
            return Treatment(Remedy.MOVE_BEHIND_PART, spans=spans, rank=rank)
        return Treatment(Remedy.MOVE_TO_NEWEST, spans=spans)
    if change in _ONE_FORM or change is Change.PASSAGES_REORDERED:
        known = {id(parts[number].paths) for number in slot.spans}
        wanted = {_forms(parts[number], forms) for number in slot.spans}
        alike = (part for part in own if id(part.paths) in known)
        chosen = frozenset(part.number for part in alike if _forms(part, forms) in wanted)
        return Treatment(Remedy.ONE_FORM, parts=chosen)
    if change is Change.TOOLS_REORDERED:
        sets = {_forms(parts[number], forms) for number in _parts_of(slot, comparer, "tools")}
        lengths = {len(of_tools) for of_tools in sets}
        chosen = frozenset(p.number for p in own if len(p.segments) in lengths and _forms(p, forms) in sets)
        return Treatment(Remedy.SORT, parts=chosen)
    if change in _TOOLS:
        return Treatment(Remedy.KEEP_TOOLS, parts=frozenset(_parts_of(slot, comparer, "tools")))
    if change is Change.SCHEMA:
        return Treatment(Remedy.KEEP_FIRST, parts=frozenset(_parts_of(slot, comparer, "schema")))
    if change in _HISTORY:
        return Treatment(Remedy.KEEP_HISTORY, rows=frozenset(slot.requests))
    return None


def caveats_of(slot: Slot, treatment: Treatment, added: int) -> tuple[str, ...]:
    """What a person must weigh before applying the fix, in words. `added` tokens are sent on top."""
    said: list[str] = []
    match treatment.remedy:
        case Remedy.MOVE_TO_NEWEST | Remedy.MOVE_BEHIND_PART:
            said.append("the model reads it at another place: text that refers to it may have to change")
        case Remedy.ONE_FORM if slot.change is Change.PASSAGES_REORDERED:
            said.append("an order that carries meaning, as by relevance, is lost")
        case Remedy.KEEP_TOOLS:
            said.append("the model sees tools that it was not meant to use: forbid them by the tool choice")
        case Remedy.KEEP_FIRST:
            said.append("answers then follow one schema")
        case Remedy.KEEP_HISTORY if added:
            said.append("prompts grow: what was dropped or shortened stays, and is read from cache")
    if slot.scope in ("tenant", "user"):
        said.append(
            f"the value belongs to one {slot.scope}: text in front of it would then be shared by several, "
            "so it must hold nothing that one of them may not see"
        )
    return tuple(said)


def _parts_of(slot: Slot, comparer: Comparer, section: str) -> dict[int, None]:
    """The parts of a section in the requests of a slot and those they are compared with, in order of number."""
    found: set[int] = set()
    for row in sorted({row for d in slot.divergences for row in (d.request, d.against)}):
        for number, path in zip(comparer.parts(row), comparer.paths(row), strict=False):
            kind = comparer.section(number, path)
            if kind == section:
                found.add(number)
            if kind not in _HEADS:
                break
    return dict.fromkeys(sorted(found))


def _forms(part: RenderedPart, known: dict[int, str]) -> tuple[str, ...]:
    """The forms of a part's segments in any order: tools in another order have other key orders too."""
    for segment in part.segments:
        if segment.number not in known:
            known[segment.number] = form_of(segment.text)
    return tuple(sorted(known[segment.number] for segment in part.segments))


def form_of(text: str) -> str:
    """What texts in different forms have in common: equal JSON, equal words, equal lines in any order."""
    if text[:1] in ("{", "["):
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except (ValueError, RecursionError):
            pass
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return "\n".join(sorted(" ".join(line.split()) for line in text.splitlines() if line.strip()))


def tool_name(segment: Segment) -> str:
    """The name by which tools are sorted, the text itself where it has none."""
    try:
        value = json.loads(segment.text)
    except (ValueError, RecursionError):
        return segment.text
    if isinstance(value, dict):
        for holder in (value, value.get("function"), value.get("toolSpec")):
            if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                return str(holder["name"])
    return segment.text


def content_range(part: RenderedPart) -> tuple[int, int]:
    """[first, last) of the segments that hold content of the request; what the rendering adds stands around it."""
    own = [index for index, path in enumerate(part.paths) if path is not None and path != ".role"]
    return (own[0], own[-1] + 1) if own else (len(part.segments), len(part.segments))


def sorted_by(key: Callable[[Segment], str], part: Sequence[Segment], first: int, last: int) -> list[Segment]:
    """The segments with those in [first, last) in order of the key."""
    return [*part[:first], *sorted(part[first:last], key=lambda s: (key(s), s.text)), *part[last:]]


def union_of_tools(parts: Iterable[RenderedPart]) -> list[Segment]:
    """Every tool of several lists once, by name, in order of appearance: the first definition of each."""
    tools: dict[str, Segment] = {}
    for part in parts:
        first, last = content_range(part)
        for segment in part.segments[first:last]:
            tools.setdefault(tool_name(segment), segment)
    return list(tools.values())


def appended(gaps: Iterable[Span]) -> list[int]:
    """Indices of the later sequence that have no counterpart in the earlier one: the surplus of each gap.
    Counterparts are the same message, edited."""
    surplus: list[int] = []
    for gap in gaps:
        surplus += range(min(gap.new_end, gap.new_start + gap.end - gap.start), gap.new_end)
    return surplus
