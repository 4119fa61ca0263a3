"""What stands behind each varying part of a prompt: the text that a prefix cache can no longer reach.

A prefix cache reads up to the first token that differs. Text that is the same in every request is lost to it
when something that varies stands in front: `exposures` gives, for each part that varies, the fixed text, the
stable variables and the conversation behind it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analyzers.templates.parts import (
    Cause,
    Condition,
    Guard,
    Loop,
    Marker,
    Part,
    Prompt,
    Scope,
    Span,
    Text,
    Value,
)
from analyzers.templates.volatility import Verdict, judge, judge_guard


@dataclass(frozen=True, slots=True)
class Exposure:
    """One varying part: a value, a loop over varying values (`loop`), or a condition (`condition`).

    `fixed_text` is all the fixed text behind it, joined; `stable_names` the stable variables behind it,
    whose length is not known; `before_conversation` says that the history of the conversation follows.
    """

    subject: str
    span: Span
    verdict: Verdict
    value: Value | None
    condition: Condition | None
    loop: Loop | None
    fixed_text: str
    stable_names: tuple[str, ...]
    before_conversation: bool
    part_index: int

    @property
    def strands(self) -> bool:
        """True when something that could have been read from cache stands behind the part."""
        return bool(self.fixed_text.strip() or self.stable_names or self.loses_conversation)

    @property
    def loses_conversation(self) -> bool:
        """True when the history behind the part is read anew each turn because of it."""
        scope = self.verdict.scope
        often = scope is not None and scope.rank >= Scope.TURN.rank
        return self.before_conversation and often


def varies(part: Part, scopes: Mapping[str, Scope]) -> bool:
    """True for a value that is not stable, and for anything that comes and goes with one."""
    if isinstance(part, Value) and not judge(part, scopes).stable:
        return True
    return any(not judge_guard(guard, scopes).stable for guard in part.guards)


def exposures(prompt: Prompt, scopes: Mapping[str, Scope]) -> Iterator[Exposure]:
    """Each varying part of the prompt once, in order: a loop once for all that is inside it.

    Where the prompt sets cache markers, only what stands before the last of them is looked at: behind it
    nothing is cached, and that is where varying parts belong.
    """
    marked = max((i for i, part in enumerate(prompt.parts) if isinstance(part, Marker)), default=None)
    parts = prompt.parts if marked is None else prompt.parts[:marked]
    behind = _Behind(parts, scopes)
    seen: set[Span] = set()
    for index, part in enumerate(parts):
        for subject, span, verdict, holder in _varying(parts, index, part, scopes):
            if span in seen:
                continue
            seen.add(span)
            last = index if holder is None else _last_inside(parts, index, holder)
            yield Exposure(
                subject,
                span,
                verdict,
                part if isinstance(part, Value) and holder is None else None,
                holder if isinstance(holder, Condition) else None,
                holder if isinstance(holder, Loop) else None,
                behind.fixed_text(last),
                behind.stable_names(last),
                behind.conversation(last),
                index,
            )


_Found = tuple[str, Span, Verdict, Guard | None]


def _varying(
    parts: tuple[Part, ...], index: int, part: Part, scopes: Mapping[str, Scope]
) -> Iterator[_Found]:
    """What varies about a part: a loop or condition around it, and its value where that changes more often.

    A condition that only lets through a value which changes as often as itself is not worth a word of its own.
    """
    strongest = -1
    for guard in part.guards:
        verdict = judge_guard(guard, scopes)
        if verdict.stable or verdict.rank <= strongest:
            continue
        if isinstance(guard, Condition) and _strongest_inside(parts, index, guard, scopes) >= verdict.rank:
            continue
        strongest = verdict.rank
        yield guard.test if isinstance(guard, Condition) else guard.over, guard.span, verdict, guard
    if isinstance(part, Value):
        verdict = judge(part, scopes)
        if not verdict.stable and verdict.rank > strongest:
            yield part.expression, part.span, verdict, None


def _strongest_inside(parts: tuple[Part, ...], index: int, holder: Guard, scopes: Mapping[str, Scope]) -> int:
    """How often the most volatile value, loop or condition inside the holder changes."""
    strongest = -1
    for part in parts[index : _last_inside(parts, index, holder) + 1]:
        if isinstance(part, Value):
            strongest = max(strongest, judge(part, scopes).rank)
        for guard in part.guards:
            if isinstance(guard, Loop) and guard.span != holder.span:
                strongest = max(strongest, judge_guard(guard, scopes).rank)
    return strongest


def _last_inside(parts: tuple[Part, ...], index: int, holder: Guard) -> int:
    """The last part that belongs to the same loop or `if` (in any of its branches)."""
    last = index
    for later in range(index + 1, len(parts)):
        if any(guard.span == holder.span for guard in parts[later].guards):
            last = later
        elif later > last + 1:
            break
    return last


class _Behind:
    """Answers what stands behind a part; joined text is built only for parts that are asked about."""

    def __init__(self, parts: tuple[Part, ...], scopes: Mapping[str, Scope]) -> None:
        self._parts = parts
        self._varies = [varies(part, scopes) for part in parts]
        verdicts = [judge(part, scopes) if isinstance(part, Value) else None for part in parts]
        # Special tokens are too short to be worth a word.
        self._stable = [
            verdict is not None and not varying and verdict.cause is not Cause.SPECIAL_TOKEN
            for verdict, varying in zip(verdicts, self._varies, strict=True)
        ]
        self._conversation = [
            verdict is not None and verdict.cause is Cause.CONVERSATION for verdict in verdicts
        ]

    def fixed_text(self, index: int) -> str:
        return "".join(
            part.text
            for part, varying in zip(self._parts[index + 1 :], self._varies[index + 1 :], strict=True)
            if isinstance(part, Text) and not varying
        )

    def stable_names(self, index: int) -> tuple[str, ...]:
        behind = zip(self._parts[index + 1 :], self._stable[index + 1 :], strict=True)
        names = [
            part.expression
            for part, stable in behind
            if stable and isinstance(part, Value) and (part.names or part.calls)
        ]
        return tuple(dict.fromkeys(names))

    def conversation(self, index: int) -> bool:
        return any(self._conversation[index + 1 :])
