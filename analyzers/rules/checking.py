"""Rules applied to sources: each prompt checked in its context, comments obeyed, what repeats reported once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from analyzers.findings import Finding, Level, in_order
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule, all_rules
from analyzers.rules.sightings import Sighting, sightings
from analyzers.rules.stranded import place
from analyzers.templates.comments import Instructions, instructions
from analyzers.templates.exposure import exposures
from analyzers.templates.parts import Part, Prompt, Scope, Source, Text, Value

UNUSED_IGNORE = "PC001"


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What a model's provider says of it; None where it is not known. The window is looked up when it is needed."""

    minimum_tokens: int | None = None
    context_window: Callable[[], int | None] = lambda: None
    marker_limit: int | None = None
    lifetimes: tuple[str, ...] = ()


@dataclass
class Checks:
    """What to check with: the chosen rules, scopes by hand, and answers about tokens and models.

    `ignored_in` gives the rules left out for one path. `scopes_in` are the scopes that hold in one file.
    `model` stands in where a prompt names none.
    """

    rules: Mapping[str, Rule]
    count_tokens: Callable[[str], int]
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    ignored_in: Callable[[str], frozenset[str]] = lambda path: frozenset()
    limits_of: Callable[[str | None, str | None], ModelLimits] = lambda provider, model: ModelLimits()
    model: str | None = None
    scopes_in: Mapping[str, Mapping[str, Scope]] = field(default_factory=dict)

    def scopes_for(self, source: Source) -> dict[str, Scope]:
        """The scopes that hold in a file: from a log, from the settings, from the file's own comments."""
        told = instructions(source.comments)
        by_comment = {name: note.scope for note in told.annotations for name in note.names}
        return {**self.scopes_in.get(source.path, {}), **self.scopes, **by_comment}


def check_sources(sources: Iterable[Source], checks: Checks) -> list[Finding]:
    """The findings of all sources, in the order of reports. A place that several prompts include counts once,
    with the greatest loss."""
    best: dict[tuple[object, ...], Finding] = {}
    for source in sources:
        for finding in check_source(source, checks):
            where = finding.location
            key = (finding.rule, where.path, where.line, where.column, where.json_path, finding.subject)
            known = best.get(key)
            if known is None or (finding.tokens_lost or 0) > (known.tokens_lost or 0):
                best[key] = finding
    return in_order(list(best.values()))


def check_source(source: Source, checks: Checks) -> list[Finding]:
    """The findings of one source, its suppressions applied."""
    told = instructions(source.comments)
    constant = _seen_elsewhere(source)
    scopes = checks.scopes_for(source)
    findings: list[Finding] = []
    for rule in checks.rules.values():
        if rule.source is not None:
            findings += rule.source(source)
    for prompt in source.prompts:
        findings += check_prompt(_annotated(prompt, told), checks, scopes, constant)
    if any(prompt.kind == "request" for prompt in source.prompts):
        findings = _once_a_place(findings)
    left_out = checks.ignored_in(source.path)
    findings = [finding for finding in findings if finding.rule not in left_out]
    kept, used = _suppressed(findings, told, source.path)
    if UNUSED_IGNORE in checks.rules and UNUSED_IGNORE not in left_out:
        kept += _unused(told, used, all_rules()[UNUSED_IGNORE])
    return kept


def check_prompt(
    prompt: Prompt, checks: Checks, scopes: Mapping[str, Scope], constant: frozenset[str] = frozenset()
) -> list[Finding]:
    """What the rules find in one prompt."""
    is_request = prompt.kind == "request"
    model = prompt.model or checks.model
    limits = checks.limits_of(prompt.provider, model)
    context = CheckContext(
        checks.count_tokens,
        () if is_request else tuple(exposures(prompt, scopes)),
        scopes,
        constant,
        model,
        prompt.provider,
        limits.minimum_tokens,
        limits.context_window,
        limits.marker_limit,
        limits.lifetimes,
    )
    findings: list[Finding] = []
    for rule in checks.rules.values():
        check = rule.request if is_request else rule.template
        if check is not None:
            findings += check(prompt, context)
    return findings


def _once_a_place(findings: list[Finding]) -> list[Finding]:
    """What many requests of one file have in common as one finding, at the first of them, with the greatest loss."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.subject), []).append(finding)
    merged = []
    for group in groups.values():
        worst = min(group, key=lambda finding: (finding.level.rank, -(finding.tokens_lost or 0)))
        requests = tuple(dict.fromkeys(f.evidence.request_id for f in group if f.evidence.request_id))
        if len(requests) > 1:
            evidence = replace(worst.evidence, request_id=requests[0], affected_requests=requests)
            message = f"{worst.message} ({len(requests):,} requests)"
            worst = replace(worst, message=message, location=group[0].location, evidence=evidence)
        merged.append(worst)
    return merged


def _annotated(prompt: Prompt, told: Instructions) -> Prompt:
    """The prompt with the scopes that comments give to values on their line."""
    lines = {a.line: a for a in told.annotations if a.line is not None}
    if not lines:
        return prompt

    def with_scope(part: Part) -> Part:
        if not isinstance(part, Value) or part.span.path != prompt.path:
            return part
        on_lines = (part.span.line, *(guard.span.line for guard in part.guards))
        annotation = next((lines[line] for line in on_lines if line in lines), None)
        return part if annotation is None else replace(part, scope=annotation.scope)

    parts = tuple(with_scope(part) for part in prompt.parts)
    return replace(prompt, parts=parts)


def _seen_elsewhere(source: Source) -> frozenset[str]:
    """Live-looking values that stand at one place of several requests of the file and never differ there."""
    requests = [prompt for prompt in source.prompts if prompt.kind == "request"]
    if len(requests) < 2:
        return frozenset()
    by_text: dict[str, list[Sighting]] = {}
    values: dict[tuple[str | None, str], Counter[str]] = {}
    for prompt in requests:
        for part in prompt.parts:
            if isinstance(part, Text) and part.place.section != "messages":
                found = by_text.get(part.text)
                if found is None:
                    found = by_text[part.text] = sightings(part.text)
                for sighting in found:
                    values.setdefault((part.place.path, sighting.kind), Counter())[sighting.value] += 1
    settled = [counts for counts in values.values() if len(counts) == 1 and counts.total() > 1]
    return frozenset(value for counts in settled for value in counts)


def _suppressed(findings: list[Finding], told: Instructions, path: str) -> tuple[list[Finding], set[int]]:
    """The findings that no comment silences, and the numbers of the comments that silenced one."""
    kept: list[Finding] = []
    used: set[int] = set()
    for finding in findings:
        silenced = False
        for number, ignore in enumerate(told.ignores):
            here = finding.location.path == path and ignore.line in (None, finding.location.line)
            if here and (not ignore.rules or _named(finding.rule, ignore.rules)):
                used.add(number)
                silenced = True
        if not silenced:
            kept.append(finding)
    return kept, used


def _named(rule: str, words: tuple[str, ...]) -> bool:
    name = all_rules()[rule].name if rule in all_rules() else ""
    return any(rule.startswith(word.upper()) or word == name for word in words)


def _unused(told: Instructions, used: set[int], rule: Rule) -> list[Finding]:
    findings = [
        rule.finding(
            f"this comment silences {', '.join(ignore.rules) or 'every rule'}, but nothing is found here",
            place(ignore.span),
            subject=", ".join(ignore.rules) or "*",
        )
        for number, ignore in enumerate(told.ignores)
        if number not in used
    ]
    findings += [
        rule.finding(
            "this comment to pcache is not understood; write `pcache: ignore[PC101]` or "
            "`pcache: volatility=session`",
            place(comment.span),
            level=Level.WARNING,
            subject="not understood",
        )
        for comment in told.unknown
    ]
    return findings
