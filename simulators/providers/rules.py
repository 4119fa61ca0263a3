"""Provider rules: dated facts with sources, chosen by provider and model, checked when they are read.

A rule file lists facts; a fact has one or more values, each for some models (first fit counts), each naming
its source. A user's file of the same form adds values in front of the bundled ones.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from analyzers.errors import InputError, UsageError
from simulators.bedrock_ids import is_bedrock_id

FOLDER = Path(__file__).parent


class Matching(StrEnum):
    """How a prompt finds what is cached."""

    BREAKPOINTS = "breakpoints"
    """Entries end where a marker stood; a marker finds them within a look-back."""
    BLOCKS = "blocks"
    """Any common prefix counts, in whole units."""


class ImplicitMarker(StrEnum):
    """The marker a provider sets by itself."""

    NONE = "none"
    ON_REQUEST = "on_request"
    """At the last block, where the request asks for it (`cache_control` at the top level)."""
    NEWEST_INPUT = "newest_input"
    """At the newest user or tool message."""


class Available(StrEnum):
    """When what a request writes can be read by another."""

    START = "start"
    FIRST_TOKEN = "first_token"
    END = "end"


class Section(StrEnum):
    """The parts of a prompt in the order in which a change in one loses the rest."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact was read and how far it is to be trusted: A the provider's page, B its SDK, C third-party
    data or measurement, D not checked."""

    title: str
    confidence: str
    url: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class CacheRules:
    """What one provider's cache does with one model. Lifetimes in seconds, sizes in tokens; None = unknown.

    `lifetimes`: seconds -> write price as a multiple of the input price, the default first.
    `lookback_blocks`: positions a marker searches, its own counted; None: all of them.
    `invalidates`: parameter path (may end in `*`) -> first section that its change loses.
    `cited`: fact -> where it was read.
    """

    provider: str
    title: str
    model: str
    as_of: date
    matching: Matching
    lifetimes: Mapping[int, Decimal]
    read_multiplier: Decimal | None
    minimum_tokens: int | None
    unit_tokens: int
    marker_limit: int | None
    lookback_blocks: int | None
    implicit_marker: ImplicitMarker
    refresh_on_read: bool
    available: Available
    caches_output: bool
    longer_first: bool
    routed_by_key: bool
    isolation: tuple[str, ...]
    invalidates: Mapping[str, Section]
    cited: Mapping[str, Source]

    @property
    def default_lifetime(self) -> int:
        return next(iter(self.lifetimes))


class _SourceEntry(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    confidence: str
    url: str = ""
    date: Any = ""


class _Value(msgspec.Struct, forbid_unknown_fields=True):
    value: Any
    source: str
    models: tuple[str, ...] = ("*",)
    note: str = ""
    verified: bool = True


class _File(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    title: str
    as_of: date
    providers: list[str]
    models: list[str]
    sources: dict[str, _SourceEntry]
    facts: dict[str, list[_Value]]
    extends: str | None = None


class _Facts(msgspec.Struct, forbid_unknown_fields=True):
    """The facts of one model as the file has them, with what holds where a file says nothing."""

    matching: Matching
    lifetimes: dict[str, Decimal]
    read_multiplier: Decimal | None = None
    minimum_tokens: int | None = None
    unit_tokens: int = 1
    marker_limit: int | None = None
    lookback_blocks: int | None = None
    implicit_marker: ImplicitMarker = ImplicitMarker.NONE
    refresh_on_read: bool = True
    available: Available = Available.FIRST_TOKEN
    caches_output: bool = False
    longer_first: bool = False
    routed_by_key: bool = False
    isolation: list[str] = []
    invalidates: dict[str, Section] = {}


@dataclass(frozen=True, slots=True)
class RuleBook:
    """All rule files, a user's values in front."""

    files: Mapping[str, _File]

    def names(self) -> list[str]:
        """The names `--provider` takes."""
        return sorted(self.files)

    def rules(self, provider: str | None, model: str | None) -> CacheRules | None:
        """The rules for a model of a provider as a log names them, None when no file covers them."""
        file = self._file(provider, (model or "").lower())
        return None if file is None else self._resolved(file.name, (model or "").lower())

    def check_name(self, name: str | None) -> None:
        """Raises UsageError for the name of a provider that has no rule file; None is each request's own."""
        if name is not None and name not in self.files:
            raise UsageError(
                f"there are no rules for the provider '{name}'; there are {', '.join(self.names())}"
            )

    def named(self, name: str, model: str | None) -> CacheRules:
        """The rules of this rule file whatever the log says. Raises UsageError when there is none."""
        self.check_name(name)
        return self._resolved(name, (model or "").lower())

    def patterns(self) -> set[str]:
        """The patterns of model names that a file or one of its values is about, those for all models left out."""
        values = (value for file in self.files.values() for fact in file.facts.values() for value in fact)
        named = {pattern for file in self.files.values() for pattern in file.models}
        return named.union(*(value.models for value in values)) - {"*"}

    def _file(self, provider: str | None, model: str) -> _File | None:
        bare, files = model.rpartition("/")[2], self.files.values()
        by_model = next((f for f in files if any(fnmatchcase(bare, p) for p in f.models)), None)
        if by_model is not None and is_bedrock_id(bare):
            return by_model
        named = (provider or "").lower()
        return next((f for f in files if named and named in (f.name, *f.providers)), by_model)

    def _resolved(self, name: str, model: str) -> CacheRules:
        chain = [self.files[name]]
        while chain[-1].extends:
            chain.append(self.files[chain[-1].extends])
        bare = _bare(model)
        facts: dict[str, Any] = {}
        cited: dict[str, Source] = {}
        for file in chain:
            for fact, values in file.facts.items():
                fitting = (v for v in values if any(fnmatchcase(bare, pattern) for pattern in v.models))
                value = next(fitting, None) if fact not in facts else None
                if value is not None:
                    source = file.sources[value.source]
                    confidence = source.confidence if value.verified else "D"
                    facts[fact] = value.value
                    cited[fact] = Source(source.title, confidence, source.url, str(source.date))
        known = msgspec.convert(facts, _Facts, strict=False)
        settings = {field: getattr(known, field) for field in known.__struct_fields__}
        settings["lifetimes"] = {_seconds(ttl): times for ttl, times in known.lifetimes.items()}
        settings["isolation"] = tuple(known.isolation)
        return CacheRules(name, chain[0].title, model, chain[0].as_of, cited=cited, **settings)


def load_rule_book(user_files: Iterable[Path] = ()) -> RuleBook:
    """The bundled rules with the values of the user's files in front. Raises InputError for a wrong file."""
    files = dict(_bundled())
    for path in user_files:
        mine = _read(path)
        theirs = files.get(mine.name)
        if theirs is not None:
            facts = {
                fact: mine.facts.get(fact, []) + theirs.facts.get(fact, [])
                for fact in {**theirs.facts, **mine.facts}
            }
            mine = msgspec.structs.replace(
                mine,
                facts=facts,
                sources={**theirs.sources, **mine.sources},
                extends=mine.extends or theirs.extends,
            )
        files[mine.name] = mine
    _check(files)
    return RuleBook(files)


@cache
def _bundled() -> dict[str, _File]:
    files = {file.name: file for file in map(_read, sorted(FOLDER.glob("*.yaml")))}
    _check(files)
    return files


def _read(path: Path) -> _File:
    try:
        return msgspec.convert(yaml.safe_load(path.read_text("utf-8")), _File, strict=False)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as problem:
        raise InputError(f"{path}: not a provider rule file ({' '.join(str(problem).split())})") from problem


def _check(files: Mapping[str, _File]) -> None:
    """Every value names a known source, every fact is known and of its type. Raises InputError."""
    for file in files.values():
        if file.extends is not None and file.extends not in files:
            raise InputError(f"provider rules '{file.name}' extend '{file.extends}', which is not there")
        for fact, values in file.facts.items():
            if fact not in _Facts.__struct_fields__:
                raise InputError(f"provider rules '{file.name}': '{fact}' is no fact a rule file can state")
            for value in values:
                if value.source not in file.sources:
                    raise InputError(f"provider rules '{file.name}', {fact}: no source '{value.source}'")
                _check_value(file.name, fact, value.value)


def _check_value(name: str, fact: str, value: Any) -> None:
    needed = {"matching": "blocks", "lifetimes": {"1h": 1}}
    try:
        known = msgspec.convert({**needed, fact: value}, _Facts, strict=False)
        for ttl in known.lifetimes:
            _seconds(ttl)
    except (msgspec.ValidationError, ValueError) as problem:
        raise InputError(f"provider rules '{name}', {fact}: {problem}") from problem


def _bare(model: str) -> str:
    """The model's own name in what a gateway or Bedrock calls it: `us.anthropic.claude-x-v1:0` -> `claude-x-v1:0`."""
    bare = model.rpartition("/")[2]
    return (
        bare.rpartition("anthropic.")[2].replace("4.", "4-").replace("5.5", "5-5")
        if "claude" in bare
        else bare
    )


def lifetime_seconds(ttl: object) -> int | None:
    """Seconds of `5m`, `1h` and the like; None for anything else."""
    match = re.fullmatch(r"(\d+)([smhd])", str(ttl))
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]] if match else None


def _seconds(ttl: str) -> int:
    seconds = lifetime_seconds(ttl)
    if seconds is None:
        raise ValueError(f"'{ttl}' is no lifetime; write 5m, 30m, 1h or 12h")
    return seconds
