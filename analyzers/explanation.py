"""One request's story: which earlier request it goes on from, what matched, where it left it, and why."""

from dataclasses import dataclass

import numpy as np

from analyzers.breakers import Breaker, breakers_of
from analyzers.comparison import Comparer, divergence_of
from analyzers.continuation import common_prefix
from analyzers.divergence import Difference, Value
from analyzers.divergences import Divergences
from analyzers.errors import InputError
from analyzers.findings import Confidence, Finding, Location
from analyzers.log_evidence import LogEvidence
from analyzers.misses import ASKING
from analyzers.rules.pc602_first_ever import RULE as FIRST_EVER
from analyzers.slots import find_slots

_AROUND = 40


@dataclass(frozen=True)
class Rung:
    """A stretch of parts of the request, from the first to the last, and what became of it.

    `state`: "same" (in front of the first difference), "changed", "equal again", or "new".
    """

    first: str
    last: str
    tokens: int
    state: str


@dataclass(frozen=True)
class Place:
    """One difference. `before` and `after` are stretches of text around it, with the changed characters at
    [start, end) of each; None unless text was asked for."""

    change: str
    path: str
    earlier_path: str | None
    char_offset: int | None
    note: str
    before: str | None = None
    before_span: tuple[int, int] | None = None
    after: str | None = None
    after_span: tuple[int, int] | None = None


@dataclass(frozen=True)
class Explanation:
    """Token counts are ours; `logged_*` are the log's own, None where it does not say.

    `common` tokens are equal to the earlier request from the start, `lost` stood in it too, behind the first
    difference. `against` is None where nothing like the request was sent before.
    """

    request: str
    against: str | None
    verdict: str
    model: str | None
    gap_s: float | None
    prompt_tokens: int
    common: int
    lost: int
    logged_prompt: int | None
    logged_read: int | None
    logged_written: int | None
    ladder: tuple[Rung, ...]
    differences: tuple[Place, ...]
    findings: tuple[Finding, ...]
    order: str


def row_of(log: LogEvidence, request_id: str) -> int:
    """The row of a request by its id, or by an unambiguous end of it. Raises InputError when there is none."""
    ids = log.traced.trace.requests.request_id
    exact = [row for row, known in enumerate(ids) if known == request_id]
    found = exact or [row for row, known in enumerate(ids) if known.endswith(request_id)]
    if not found:
        some = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
        raise InputError(f"no request of the log has the id '{request_id}'; there are {some}")
    if len(found) > 1:
        raise InputError(
            f"{len(found)} requests of the log have the id '{request_id}'; give a longer part of it"
        )
    return found[0]


def explain(log: LogEvidence, row: int, against: int | None = None, show_text: bool = False) -> Explanation:
    """The story of one request, against the earlier request it should have continued or the one given."""
    divergences = log.divergences
    given = against is not None
    other = int(divergences.continuations.predecessor[row]) if against is None else against
    table = log.traced.trace.requests
    if other < 0 and divergences.reusable[row] > 0:
        other = _latest_with_prefix(log, row)  # it shares less than a whole line or chunk
    if other < 0:
        breakers = [b for b in breakers_of(log) if row in b.requests]
        missed = next((miss.against for miss in log.misses if miss.request == row), None)
        return _story(log, row, missed, 0, 0, (), (), breakers, show_text)
    others = np.full(len(table), -1, np.int32)
    others[row] = other
    unit = log.traced.trace.info.unit
    common = min(int(common_prefix(log.traced, others)[row]) * unit, int(table.prompt_tokens[row]))
    comparer = divergences.comparer
    compared = comparer.compare(row, other)
    if other == divergences.continuations.predecessor[row]:
        lost = max(0, int(divergences.continuations.shared[row]) * unit - common)
    else:
        lost = 0 if compared is None else compared.equal_tokens
    if compared is None:
        breakers = [b for b in breakers_of(log) if row in b.requests]
        return _story(log, row, other, common, 0, _continued(comparer, row, other), (), breakers, show_text)
    breakers = (
        _pair_breakers(log, comparer, row, other, common, lost)
        if given
        else [b for b in breakers_of(log) if row in b.requests or (b.slot and row in b.slot.requests)]
    )
    ladder = _ladder(comparer, row, compared.first, compared.equal_ranges)
    return _story(log, row, other, common, lost, ladder, compared.differences, breakers, show_text)


def _latest_with_prefix(log: LogEvidence, row: int) -> int:
    from analyzers import kernels

    parent, leaf = log.traced.trace.tree.parent, log.traced.trace.requests.leaf
    first = kernels.first_prompt_of_nodes(parent, leaf)
    return int(kernels.latest_with_prefix(parent, leaf, first)[row])


def _pair_breakers(
    log: LogEvidence, comparer: Comparer, row: int, other: int, common: int, lost: int
) -> list[Breaker]:
    """What the rules say of two requests alone."""
    compared = comparer.compare(row, other)
    if compared is None:
        return []
    found = (divergence_of(comparer, compared, row, other, common, lost),)
    alone = Divergences(found, log.divergences.continuations, comparer, log.divergences.reusable)
    slots = tuple(find_slots(log.traced, alone))
    return breakers_of(LogEvidence(log.traced, log.usage, alone, slots, (), log.limits_of), pairs_only=True)


def _continued(comparer: Comparer, row: int, other: int) -> tuple[Rung, ...]:
    if comparer.holds_ids(comparer.parts(row)):
        return ()
    return _ladder(comparer, row, min(len(comparer.parts(row)), len(comparer.parts(other))), (), False)


def _ladder(
    comparer: Comparer, row: int, first: int, equal: tuple[tuple[int, int], ...], differs: bool = True
) -> tuple[Rung, ...]:
    parts, paths = comparer.parts(row), comparer.paths(row)
    lengths = comparer.traced.sequences.length
    again = {index for start, end in equal for index in range(start, end)}
    last_equal = max(again, default=first)
    rungs: list[Rung] = []
    for index, run in enumerate(parts):
        if index < first:
            state = "same"
        elif index in again:
            state = "equal again"
        else:
            state = "changed" if differs and index <= max(first, last_equal) else "new"
        tokens = int(lengths[run])
        if rungs and rungs[-1].state == state:
            rungs[-1] = Rung(rungs[-1].first, paths[index], rungs[-1].tokens + tokens, state)
        else:
            rungs.append(Rung(paths[index], paths[index], tokens, state))
    return tuple(rungs)


def _story(
    log: LogEvidence,
    row: int,
    against: int | None,
    common: int,
    lost: int,
    ladder: tuple[Rung, ...],
    differences: tuple[Difference, ...],
    breakers: list[Breaker],
    show_text: bool,
) -> Explanation:
    table, usage = log.traced.trace.requests, log.usage
    gap = None if against is None else float(usage.time_s[row] - usage.time_s[against])
    findings = tuple(breaker.finding for breaker in breakers)
    if against is None and not findings and table.prompt_tokens[row] > 0:
        request = log.traced.log.requests[row]
        place = Location(request.file, request.line)
        words = "nothing like it was sent before: it had to be read in full"
        findings = (FIRST_EVER.finding(words, place, confidence=Confidence.CONFIRMED),)
    return Explanation(
        request=log.request_id(row),
        against=None if against is None else log.request_id(against),
        verdict=_verdict(log, row, against, common, lost, differences, findings),
        model=table.model.of(row),
        gap_s=None if gap is None or np.isnan(gap) else gap,
        prompt_tokens=int(table.prompt_tokens[row]),
        common=common,
        lost=lost,
        logged_prompt=_known(usage.prompt[row]),
        logged_read=_known(usage.read[row]),
        logged_written=_known(usage.written[row]),
        ladder=ladder,
        differences=tuple(_place(log, difference, show_text) for difference in differences),
        findings=findings,
        order=log.traced.trace.info.rendering,
    )


def _known(value: "np.int64") -> int | None:
    return int(value) if value >= 0 else None


def _verdict(
    log: LogEvidence,
    row: int,
    against: int | None,
    common: int,
    lost: int,
    differences: tuple[Difference, ...],
    findings: tuple[Finding, ...],
) -> str:
    name = log.request_id(row)
    prompt = int(log.traced.trace.requests.prompt_tokens[row])
    if prompt == 0:
        why = f": {findings[0].message}" if findings else ""
        return f"{name}: the log holds its usage and no prompt{why}."
    if against is None:
        return f"{name}: no earlier request of the log shares content with it."
    other = log.request_id(against)
    ends = min(prompt, int(log.traced.trace.requests.prompt_tokens[against]))
    if not differences and common < ends - ASKING:
        text = f"{name} leaves {other} at token {common:,} of {prompt:,}"
        return f"{text}: {findings[0].message} [{findings[0].rule}]." if findings else f"{text}."
    if not differences:
        text = f"{name} goes on with {other}: {common:,} of its {prompt:,} tokens are equal from the start"
        if findings:
            return f"{text}, but {findings[0].message}."
        return f"{text}."
    first = differences[0]
    at = "" if first.char_offset is None else f", character {first.char_offset:,}"
    text = f"{name} leaves {other} at token {common:,} of {prompt:,} ({first.path}{at}: {first.change})"
    if lost:
        text += f"; {lost:,} tokens behind it stood in {other} too"
    named = f" [{findings[0].rule}]" if findings else ""
    return f"{text}{named}."


def _place(log: LogEvidence, difference: Difference, show_text: bool) -> Place:
    before, before_span = _around(log, difference.before, difference, show_text)
    after, after_span = _around(log, difference.after, difference, show_text)
    return Place(
        change=str(difference.change),
        path=difference.path,
        earlier_path=difference.earlier_path,
        char_offset=difference.char_offset,
        note=difference.note or (f"now at {difference.moved_to}" if difference.moved_to else ""),
        before=before,
        before_span=before_span,
        after=after,
        after_span=after_span,
    )


def _around(
    log: LogEvidence, value: Value | None, difference: Difference, show_text: bool
) -> tuple[str | None, tuple[int, int] | None]:
    """The text around a value, control and other invisible characters escaped, and the place of the value in it."""
    if value is None or not show_text:
        return None, None
    text = log.traced.parts[value.part].segments[value.segment].text
    start, end = value.start, value.end
    whole = end - start == len(text)
    if whole and difference.char_offset is not None and difference.char_offset <= len(text):
        start = end = difference.char_offset
        end = min(len(text), start + 1)
    left = ascii(text[max(0, start - _AROUND) : start])[1:-1]
    changed = ascii(text[start : min(end, start + 2 * _AROUND)])[1:-1]
    right = ascii(text[min(end, start + 2 * _AROUND) : end + _AROUND])[1:-1]
    return left + changed + right, (len(left), len(left) + len(changed))
