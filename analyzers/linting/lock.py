"""A committed lock of the fixed beginnings of prompts, so that a change says what it invalidates.

Every prompt has a fixed beginning: what stands before the first part that varies. A change in it makes every
cached entry behind the change useless once. The lock holds a digest after each line of it, so that a check can
say from which token on the cache is lost.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from analyzers.errors import InputError
from analyzers.findings import Finding, Fix, Location
from analyzers.rules.registry import all_rules
from analyzers.templates.exposure import varies
from analyzers.templates.parts import Prompt, Scope, Source, Span, Text, Value

_VERSION = 1
_DIGEST_LENGTH = 32


@dataclass(frozen=True, slots=True)
class LockedPrefix:
    """The fixed beginning of one prompt: a digest of everything up to the end of each line, tokens in all."""

    key: str
    tokens: int
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the lock: a finding for each prefix that changed, and the keys that came and went."""

    findings: list[Finding]
    added: list[str]
    removed: list[str]


@dataclass(frozen=True, slots=True)
class _Beginning:
    prompt: Prompt
    text: str
    lines: tuple[str, ...]
    spans: tuple[Span, ...]


def prefixes(
    sources: Iterable[Source], scopes: Mapping[str, Scope], count_tokens: Callable[[str], int]
) -> list[LockedPrefix]:
    """The fixed beginnings of all prompts that are templates, by file and name."""
    return [_locked(key, found, count_tokens) for key, found in _beginnings(sources, scopes)]


def write_lock(locked: Iterable[LockedPrefix], path: Path, tokenizer: str) -> None:
    """Write the lock file. Raises InputError."""
    document = {
        "version": _VERSION,
        "tokenizer": tokenizer,
        "prefixes": {one.key: {"tokens": one.tokens, "lines": list(one.digests)} for one in locked},
    }
    try:
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror}") from None


def check_lock(
    sources: Iterable[Source], scopes: Mapping[str, Scope], count_tokens: Callable[[str], int], path: Path
) -> Changes:
    """Compare the prompts with the lock file. Raises InputError when it cannot be read."""
    known = _load(path)
    rule = all_rules()["PC611"]
    findings: list[Finding] = []
    added: list[str] = []
    current: set[str] = set()
    for key, found in _beginnings(sources, scopes):
        current.add(key)
        before = known.get(key)
        if before is None:
            added.append(key)
            continue
        digests = _digests(found.lines)
        same = next(
            (i for i, (a, b) in enumerate(zip(before.digests, digests, strict=False)) if a != b), None
        )
        if same is None and len(digests) == len(before.digests):
            continue
        same = min(len(digests), len(before.digests)) if same is None else same
        kept = min(count_tokens("".join(found.lines[:same])), before.tokens)
        lost = before.tokens - kept
        if lost == 0:
            # Longer by what was added at its end: nothing that is cached is lost.
            continue
        span = found.spans[min(same, len(found.spans) - 1)] if found.spans else None
        place = (
            Location(found.prompt.path, 1, 1) if span is None else Location(span.path, span.line, span.column)
        )
        findings.append(
            rule.finding(
                f"this change invalidates {lost:,} cached tokens per request ({kept:,} of {before.tokens:,} stay)",
                place,
                subject=key,
                tokens_lost=lost,
                fix=Fix(
                    "If the change is meant, update the lock (--update-lock) and commit it with the change."
                ),
            )
        )
    return Changes(findings, added, sorted(set(known) - current))


def _beginnings(sources: Iterable[Source], scopes: Mapping[str, Scope]) -> Iterator[tuple[str, _Beginning]]:
    for source in sources:
        for prompt in source.prompts:
            if prompt.kind != "request":
                path = PurePath(source.path).as_posix().removeprefix("./")
                yield f"{path}#{prompt.name}" if prompt.name else path, _beginning(prompt, scopes)


def _beginning(prompt: Prompt, scopes: Mapping[str, Scope]) -> _Beginning:
    lines: list[str] = []
    spans: list[Span] = []
    unfinished = False
    for part in prompt.parts:
        if varies(part, scopes):
            break
        if not isinstance(part, Text | Value):
            continue
        written = part.text if isinstance(part, Text) else f"{{{part.expression}}}"
        for piece in written.splitlines(keepends=True):
            if unfinished:
                lines[-1] += piece
            else:
                lines.append(piece)
                spans.append(part.span)
            unfinished = not piece.endswith("\n")
    return _Beginning(prompt, "".join(lines), tuple(lines), tuple(spans))


def _locked(key: str, found: _Beginning, count_tokens: Callable[[str], int]) -> LockedPrefix:
    return LockedPrefix(key, count_tokens(found.text) if found.text else 0, _digests(found.lines))


def _digests(lines: Iterable[str]) -> tuple[str, ...]:
    running = hashlib.sha256()
    digests = []
    for line in lines:
        running.update(line.encode("utf-8", "surrogatepass"))
        digests.append(running.copy().hexdigest()[:_DIGEST_LENGTH])
    return tuple(digests)


def _load(path: Path) -> dict[str, LockedPrefix]:
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if document["version"] != _VERSION:
            raise InputError(f"{path} is a lock of another version; write it anew with --update-lock")
        return {
            key: LockedPrefix(key, int(entry["tokens"]), tuple(map(str, entry["lines"])))
            for key, entry in document["prefixes"].items()
        }
    except FileNotFoundError:
        raise InputError(f"there is no lock file {path}; write it with --update-lock") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"{path} is not a lock file ({problem})") from None
