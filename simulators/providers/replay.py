"""A log replayed under providers' rules: what each request would have read and written, beside what it logged.

    result = replay(trace, load_rule_book(), requests=log.requests)
    result.read, result.uncached             # int64, one entry a request, -1 where no rules cover the request
    result.verdicts                          # Verdict of each request

`what_if` changes the rules or the markers before the replay: `automatic`, `markers=best`, `ttl=1h`, `model=NAME`. With
`layout=fixed` the trace itself is of the fixed requests.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from analyzers.errors import CannotEvaluateError
from analyzers.request import Request
from analyzers.trace import MISSING, Int64, Trace
from simulators.providers.blocks import BlockCache
from simulators.providers.breakpoints import BreakpointCache
from simulators.providers.objects import ObjectReads
from simulators.providers.prompts import MarkerPolicy, Prompt, PromptMaker
from simulators.providers.rules import CacheRules, Matching, RuleBook
from simulators.providers.served import CacheModel, Served, Why
from simulators.providers.what_if import AS_LOGGED, WhatIf

ESTIMATE_AGREES = 0.02
"""Share of the prompt by which a figure that rests on counted tokens may differ and still agree."""
ESTIMATE_ERROR = 0.15
"""Share of the prompt up to which the difference may be the error of the count: providers render text of
their own into the prompt, and stand-in tokenizers are off."""


class Verdict(StrEnum):
    """The simulated read tokens beside the logged ones."""

    AGREES = "agrees"
    UNDECIDED = "undecided"
    WARM = "read more"
    PROVIDER_SIDE = "provider side"
    NOT_LOGGED = "not logged"
    NO_PROMPT = "no prompt"
    NO_RULES = "no rules"


MEANINGS = {
    Verdict.AGREES: "the same to the token, or within 2 % of the prompt where lengths are estimated",
    Verdict.UNDECIDED: "differs by no more than the counted lengths may be off, or the log has no times, or the "
    "provider's matching rule is not verified",
    Verdict.WARM: "read more than the log explains: cached before it began, by requests outside it, or by server "
    "tools within a request",
    Verdict.PROVIDER_SIDE: "the provider read less than its rules allow: evicted, or served by another machine",
    Verdict.NOT_LOGGED: "the log does not say what was read",
    Verdict.NO_PROMPT: "the log holds no prompt for it",
    Verdict.NO_RULES: "no rules are known for its provider and model",
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Requests whose logged read tokens the replay gives. `determined`: those whose figure the log itself fixes
    to the token; `estimated`: those that rest on counted lengths. Both leave out requests that read more than the
    log explains (`warm`) and those whose log does not say (`unknown`)."""

    determined: int
    determined_agree: int
    estimated: int
    estimated_agree: int
    warm: int
    provider_side: int
    unknown: int


@dataclass(frozen=True)
class Replay:
    """One entry a request, int64 tokens in the provider's count; -1 where no rules cover the request.

    `written`: lifetime in seconds -> tokens. `exact` marks reads that the log determines to the token.
    """

    prompt: Int64
    read: Int64
    written: Mapping[int, Int64]
    exact: npt.NDArray[np.bool_]
    why: list[Why | None]
    verdicts: list[Verdict]
    rules: list[CacheRules]
    what_if: WhatIf
    notes: list[str] = field(default_factory=list)

    @property
    def agreement(self) -> Agreement:
        return _agreement(self)

    @property
    def written_total(self) -> Int64:
        return sum(self.written.values(), np.zeros_like(self.read))

    @property
    def uncached(self) -> Int64:
        return np.where(self.read < 0, MISSING, self.prompt - self.read - self.written_total)

    def counts(self) -> Counter[Verdict]:
        return Counter(self.verdicts)


@dataclass(frozen=True, slots=True)
class _Result:
    prompt: Prompt
    served: Served
    rules: CacheRules


def replay(
    trace: Trace,
    book: RuleBook,
    requests: Sequence[Request] | None = None,
    provider: str | None = None,
    what_if: WhatIf = AS_LOGGED,
) -> Replay:
    """Replay every request of the trace in order.

    `provider` names the rule file to use for all requests; None takes each request's own provider and model.
    Raises CannotEvaluateError when the trace is of block hashes or no rules cover any request, UsageError for
    a provider that has no rules.
    """
    if trace.info.unit != 1:
        raise CannotEvaluateError(
            "the log holds block hashes, no prompts, so blocks and markers are not known; "
            "use `pcache simulate` without --provider"
        )
    played = _Players(trace, book, provider, what_if)
    maker, objects = PromptMaker(trace, requests, not what_if.fixed_layout), ObjectReads()
    results: list[_Result | Verdict] = []
    for row in range(len(trace)):
        player = played.of(row)
        if player is None:
            results.append(Verdict.NO_RULES)
            continue
        rules, cache, markers = player
        if trace.requests.leaf[row] < 0:
            results.append(Verdict.NO_PROMPT)
            continue
        prompt = maker.make(row, rules, markers)
        named = prompt.cache_object
        served = cache.serve(prompt) if named is None else objects.serve(prompt, named)
        results.append(_Result(prompt, served, rules))
    if not any(isinstance(result, _Result) for result in results):
        if Verdict.NO_PROMPT in results:
            raise CannotEvaluateError(
                "the log holds usage figures but no prompts; there is nothing to replay"
            )
        raise CannotEvaluateError(
            f"no provider rules cover this log's models; name one with --provider ({', '.join(book.names())})"
        )
    return _as_replay(results, played.used(), what_if, _notes(trace, maker))


class _Players:
    """One cache for each provider and model that the log names, made when it is first met."""

    def __init__(self, trace: Trace, book: RuleBook, provider: str | None, what_if: WhatIf) -> None:
        self._trace, self._book, self._provider, self._what_if = trace, book, provider, what_if
        self._rules: dict[tuple[str | None, str | None], CacheRules | None] = {}
        self._players: dict[str, tuple[CacheRules, CacheModel, MarkerPolicy | None]] = {}

    def of(self, row: int) -> tuple[CacheRules, CacheModel, MarkerPolicy | None] | None:
        table = self._trace.requests
        name, model = table.provider.of(row), self._what_if.model or table.model.of(row)
        if (name, model) not in self._rules:
            found = (
                self._book.named(self._provider, model) if self._provider else self._book.rules(name, model)
            )
            self._rules[name, model] = None if found is None else self._what_if.changed(found)
        rules = self._rules[name, model]
        if rules is None:
            return None
        key = f"{rules.provider} {rules.model}"
        if key not in self._players:
            cache = BreakpointCache(rules) if rules.matching is Matching.BREAKPOINTS else BlockCache(rules)
            self._players[key] = rules, cache, self._what_if.marker_policy(self._trace, rules)
        return self._players[key]

    def used(self) -> list[CacheRules]:
        return [rules for rules, _, _ in self._players.values()]


def _agreement(result: Replay) -> Agreement:
    judged = [
        (verdict is Verdict.AGREES, bool(exact))
        for verdict, exact in zip(result.verdicts, result.exact, strict=True)
        if verdict in (Verdict.AGREES, Verdict.UNDECIDED, Verdict.PROVIDER_SIDE)
    ]
    counts = result.counts()
    return Agreement(
        determined=sum(exact for _, exact in judged),
        determined_agree=sum(agrees for agrees, exact in judged if exact),
        estimated=sum(not exact for _, exact in judged),
        estimated_agree=sum(agrees for agrees, exact in judged if not exact),
        warm=counts[Verdict.WARM],
        provider_side=counts[Verdict.PROVIDER_SIDE],
        unknown=counts[Verdict.NOT_LOGGED] + counts[Verdict.NO_RULES] + counts[Verdict.NO_PROMPT],
    )


def _as_replay(
    results: Sequence[_Result | Verdict],
    rules: list[CacheRules],
    what_if: WhatIf,
    notes: list[str],
) -> Replay:
    count = len(results)
    prompt, read = np.full(count, MISSING, np.int64), np.full(count, MISSING, np.int64)
    exact = np.zeros(count, np.bool_)
    written: dict[int, Int64] = {}
    for row, result in enumerate(results):
        if isinstance(result, Verdict):
            continue
        seen, served = result.prompt, result.served
        prompt[row] = seen.tokens if seen.logged_prompt is None else seen.logged_prompt
        read[row], exact[row] = served.read, served.read_is_exact
        for ttl, tokens in served.written.items():
            written.setdefault(ttl, np.zeros(count, np.int64))[row] = tokens
    return Replay(
        prompt=prompt,
        read=read,
        written=dict(sorted(written.items())),
        exact=exact,
        why=[None if isinstance(result, Verdict) else result.served.why for result in results],
        verdicts=[result if isinstance(result, Verdict) else _verdict(result) for result in results],
        rules=rules,
        what_if=what_if,
        notes=notes,
    )


def _verdict(result: _Result) -> Verdict:
    prompt, served, rules = result.prompt, result.served, result.rules
    if prompt.logged_read is None:
        return Verdict.NOT_LOGGED
    difference = prompt.logged_read - served.read
    slack = error = 0.0
    if not served.read_is_exact and served.read > 0:
        # A hit may end one unit earlier or later where the count of tokens is off by a few.
        unit = rules.unit_tokens if rules.unit_tokens > 1 else 0
        slack = ESTIMATE_AGREES * prompt.at(prompt.tokens) + unit
        error = ESTIMATE_ERROR * prompt.at(prompt.tokens) if prompt.is_whole else float("inf")
    if abs(difference) <= slack:
        return Verdict.AGREES
    if abs(difference) <= error:
        return Verdict.UNDECIDED
    if difference > 0:
        return Verdict.WARM
    # Without times expiry cannot be ruled out, and an unverified rule proves nothing against a provider.
    proven = prompt.has_time and rules.cited["matching"].confidence != "D"
    return Verdict.PROVIDER_SIDE if proven else Verdict.UNDECIDED


def _notes(trace: Trace, maker: PromptMaker) -> list[str]:
    notes = []
    if maker.rows_without_time:
        notes.append(f"{maker.rows_without_time} requests have no time: nothing expires between them")
    if maker.rows_with_assumed_marker:
        notes.append(
            f"{maker.rows_with_assumed_marker} requests show cached tokens but no marker: "
            "one is assumed at the end of the prompt"
        )
    if trace.info.tokenizer != "none":
        notes.append(
            f"lengths counted with {trace.info.tokenizer} ({trace.info.tokenizer_note}), "
            "scaled to the prompt tokens that the log states"
        )
    return notes
