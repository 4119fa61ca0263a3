"""Every request of a log that does not continue the earlier one whose content it shares."""

from dataclasses import dataclass

import numpy as np

from analyzers.comparison import Compared, Comparer, divergence_of
from analyzers.continuation import Continuations, find_continuations
from analyzers.divergence import Change, Divergence
from analyzers.pipeline import TracedLog
from analyzers.trace import Int64
from analyzers.usage_record import UsageRecord

WORTH_SAYING = 16
"""Tokens that must be equal again behind a difference for it to count as one in the head of a prompt."""
LONG_AGAIN = 64
"""The same, where the difference lies in a message and nothing says that it is the same conversation."""
FIXED_TEXT = 256
"""The same, within one field of a message, between conversations: text that a template repeats."""

_HEAD = ("schema", "tools", "system")
_IN_PLACE = {
    Change.WHITE_SPACE,
    Change.UNICODE_FORM,
    Change.LINE_ENDS,
    Change.ARGUMENTS,
    Change.KEY_ORDER,
    Change.IMAGE_REPLACED,
    Change.REASONING_STRIPPED,
    Change.ROLE,
    Change.BLOCK_MOVED,
    Change.RESULT_CLEARED,
    Change.TRUNCATED,
}
"""Changes that nobody makes to a message that is meant to be another one."""
_ALWAYS = {Change.TOOLS_REORDERED, Change.KEY_ORDER, Change.SCHEMA, Change.SYSTEM_MOVED}


@dataclass(frozen=True)
class Divergences:
    """The divergences of a log in time order, and what they were found with."""

    found: tuple[Divergence, ...]
    continuations: Continuations
    comparer: Comparer
    reusable: Int64
    """Longest prefix of each prompt that any earlier one of its namespace has (int64 tokens)."""


def find_divergences(traced: TracedLog, usage: UsageRecord) -> Divergences:
    """Compare each request with its predecessor where it does not simply continue it."""
    from analyzers import kernels

    continuations = find_continuations(traced)
    comparer = Comparer(traced)
    tree, leaf = traced.trace.tree, traced.trace.requests.leaf
    first = kernels.first_prompt_of_nodes(tree.parent, leaf)
    reusable, _ = kernels.reused_depth(tree.parent, tree.depth_end, first, leaf)
    found: list[Divergence] = []
    if traced.trace.info.unit == 1:
        prompt = traced.sequences.totals()
        predecessor = continuations.predecessor
        earlier = np.where(predecessor >= 0, prompt[predecessor], 0)
        # A predecessor whose prompt is a prefix was continued; the few tokens behind it ask for the answer.
        candidates = np.flatnonzero((predecessor >= 0) & (continuations.common < earlier))
        for row in candidates.tolist():
            divergence = _divergence(traced, usage, continuations, comparer, reusable, row)
            if divergence is not None:
                found.append(divergence)
    return Divergences(tuple(found), continuations, comparer, reusable)


def _divergence(
    traced: TracedLog,
    usage: UsageRecord,
    continuations: Continuations,
    comparer: Comparer,
    reusable: Int64,
    row: int,
) -> Divergence | None:
    against = int(continuations.predecessor[row])
    common, shared = int(continuations.common[row]), int(continuations.shared[row])
    lost = max(0, shared - max(common, int(reusable[row])))
    # With nothing to lose by our count, compare only where the log itself may say that something was lost.
    silent = shared - common < 1 or bool(usage.read[row] >= 0)
    if lost < WORTH_SAYING and silent and not _may_have_missed(usage, row, against):
        return None
    requests = traced.log.requests
    if requests[row].dialect is not requests[against].dialect:
        return None  # the same call as two programs wrote it down, or two programs
    compared = comparer.compare(row, against)
    if compared is None or not compared.differences:
        return None
    if not _breaks(traced, comparer, compared, row, against, common, lost):
        return None
    return divergence_of(comparer, compared, row, against, common, lost)


def _may_have_missed(usage: UsageRecord, row: int, against: int) -> bool:
    """Whether the log's own figures show fewer tokens read than the earlier request had left in the cache."""
    return bool(usage.read[row] >= 0 and usage.cached[against] > usage.read[row])


def _breaks(
    traced: TracedLog, comparer: Comparer, compared: Compared, row: int, against: int, common: int, lost: int
) -> bool:
    """Whether the differences broke a prefix that was meant to be the same, not merely tell two prompts apart."""
    new, paths = comparer.parts(row), comparer.paths(row)
    old, old_paths = comparer.parts(against), comparer.paths(against)
    at = compared.first
    sections = [comparer.section(old[at], old_paths[at])] if at < len(old) else []
    if at < len(new):
        sections.append(comparer.section(new[at], paths[at]))
    change = compared.differences[0].change
    shorter = min(compared.rest, compared.earlier_rest) - (common - int(compared.start_tokens))
    again = lost / max(1, shorter)
    if any(section in _HEAD for section in sections):
        if change in _ALWAYS:
            return lost >= WORTH_SAYING
        return lost >= WORTH_SAYING and (again >= 0.3 or _alike(comparer, compared))
    told = _same_session(traced, row, against)
    if told is not False:
        went_on = compared.equal_parts > 0 or len(new) > len(old)
        begun_alike = any(comparer.section(new[i], paths[i]) == "user" for i in range(at))
        if change in _IN_PLACE:
            return went_on and (told is True or begun_alike or again >= 0.5)
        if compared.equal_parts and again >= 0.5:
            if change is Change.TEXT and {"assistant", "model"} & set(sections) and told is None:
                return False  # another answer to the same question
            return lost >= (WORTH_SAYING if told or begun_alike else LONG_AGAIN)
        if change is Change.COMPACTION:
            return compared.equal_parts > 0 and lost >= WORTH_SAYING
    return lost >= LONG_AGAIN and _equal_behind(comparer, compared) >= FIXED_TEXT


def _alike(comparer: Comparer, compared: Compared) -> bool:
    """Whether the first differing field is half equal in both requests, so that it is one text and not two."""
    first = compared.differences[0]
    if first.change in (Change.TOOLS_ADDED, Change.TOOLS_REMOVED, Change.TOOL_CHANGED):
        return compared.equal_parts > 0
    sizes = _changed_and_all(comparer, compared)
    return sizes is not None and 2 * sizes[0] <= sizes[1]


def _equal_behind(comparer: Comparer, compared: Compared) -> float:
    """Tokens of the first differing field that are equal again behind its first difference, about."""
    first = compared.differences[0]
    sizes = _changed_and_all(comparer, compared)
    if sizes is None or first.char_offset is None or first.after is None:
        return 0
    changed, whole = sizes
    equal = (whole - changed) / 2 - first.char_offset
    text = len(comparer.traced.parts[first.after.part].segments[first.after.segment].text)
    tokens = int(comparer.traced.sequences.length[first.after.part])
    return equal * tokens / max(1, text)


def _changed_and_all(comparer: Comparer, compared: Compared) -> tuple[int, int] | None:
    """Characters that differ in the first differing field, and all of it, in both requests together."""
    first = compared.differences[0]
    if first.before is None or first.after is None:
        return None
    parts = comparer.traced.parts
    texts = [parts[value.part].segments[value.segment].text for value in (first.before, first.after)]
    changed = sum(
        len(value.text)
        for difference in compared.differences
        if difference.path == first.path
        for value in (difference.before, difference.after)
        if value is not None
    )
    if first.change is Change.PASSAGES_REORDERED and first.char_offset is not None:
        changed = 2 * first.char_offset
    return changed, sum(map(len, texts))


def _same_session(traced: TracedLog, row: int, against: int) -> bool | None:
    """Whether two requests belong to one session; None where the log does not say."""
    sessions = traced.trace.requests.session
    own, other = sessions.of(row), sessions.of(against)
    return None if own is None or other is None else own == other
