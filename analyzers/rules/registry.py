"""The rules by id. A new rule is one new file in this folder; nothing else has to know it.

A rule file is named `pcNNN_name.py`: id and name come from there. Its docstring says what the rule finds,
why it matters, a bad and a good example, and what it must not flag. It defines one object:

    RULE = Rule.of(__name__, Level.ERROR, template=check)

A rule has a check for each kind of evidence that can show its cause, and None for the others:

template  takes a Prompt (a template, a chat template, a call site in Python source) and a CheckContext
request   takes a Prompt made of one request's body, and a CheckContext
source    takes a Source, for what concerns a template file as a whole (line ends, encoding)
pair      takes a Slot (what a place that varies did over a log) and the LogEvidence it stands in; gives Breakers
log       takes the LogEvidence of a whole log: markers, parameters, time, identity; gives Breakers
usage     takes usage figures; its arguments belong to the log side

A rule without any check is found by another module, which makes its findings with `Rule.finding`.
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from analyzers.errors import UsageError
from analyzers.findings import Finding, Level, Location
from analyzers.rules.context import CheckContext
from analyzers.templates.parts import Prompt, Source

FAMILIES = {
    "PC0": "the linter itself",
    "PC1": "volatile text",
    "PC2": "order and serialisation",
    "PC3": "cache markers",
    "PC4": "parameters",
    "PC5": "history and re-rendering",
    "PC6": "time, identity, routing",
    "PC7": "accounting",
    "PC8": "engine geometry and size",
}

PromptCheck = Callable[[Prompt, CheckContext], Iterable[Finding]]
SourceCheck = Callable[[Source], Iterable[Finding]]
LogCheck = Callable[..., Iterable[Finding]]
BreakerCheck = Callable[..., Any]
"""Gives an iterable of Breakers."""

_MODULE_NAME = re.compile(r"pc(\d{3})_([a-z0-9_]+)")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `id` (`PC101`), `name` (`clock`), the `level` its findings have unless they say otherwise.

    `by_request`: a matter of house style, checked only where the rule is selected by its id or name.
    """

    id: str
    name: str
    level: Level
    docs: str
    template: PromptCheck | None = None
    request: PromptCheck | None = None
    source: SourceCheck | None = None
    pair: BreakerCheck | None = None
    log: BreakerCheck | None = None
    usage: LogCheck | None = None
    by_request: bool = False

    @classmethod
    def of(
        cls,
        module: str,
        level: Level,
        *,
        template: PromptCheck | None = None,
        request: PromptCheck | None = None,
        source: SourceCheck | None = None,
        pair: BreakerCheck | None = None,
        log: BreakerCheck | None = None,
        usage: LogCheck | None = None,
        by_request: bool = False,
    ) -> "Rule":
        """The rule that the module (pass `__name__`) defines: id, name and documentation are the module's."""
        match = _MODULE_NAME.fullmatch(module.rpartition(".")[2])
        docs = sys.modules[module].__doc__
        if match is None or not docs:
            raise ValueError(
                f"{module}: a rule file is named pcNNN_name.py and starts with its documentation"
            )
        name = match[2].replace("_", "-")
        return cls(
            f"PC{match[1]}",
            name,
            level,
            docs.strip(),
            template,
            request,
            source,
            pair,
            log,
            usage,
            by_request,
        )

    @property
    def family(self) -> str:
        """What the rule's hundred is about, in words."""
        return FAMILIES[self.id[:3]]

    @property
    def title(self) -> str:
        """The first sentence of the documentation."""
        return self.docs.partition("\n")[0].rstrip(".")

    def finding(
        self, message: str, location: Location, *, level: Level | None = None, **details: Any
    ) -> Finding:
        """A finding of this rule; `details` are further fields of Finding."""
        return Finding(self.id, level or self.level, message, location, **details)


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by id, in the order of ids. Importing them takes some milliseconds and no heavy library."""
    rules: dict[str, Rule] = {}
    folder = importlib.import_module("analyzers.rules")
    for module in pkgutil.iter_modules(folder.__path__):
        if _MODULE_NAME.fullmatch(module.name):
            rule: Rule = importlib.import_module(f"analyzers.rules.{module.name}").RULE
            if rule.id in rules:
                raise ValueError(f"two rules have the id {rule.id}")
            rules[rule.id] = rule
    return dict(sorted(rules.items()))


def find_rule(word: str) -> Rule:
    """The rule with this id or name, in any case. Raises UsageError when there is none."""
    wanted = word.strip().casefold()
    for rule in all_rules().values():
        if wanted in (rule.id.casefold(), rule.name):
            return rule
    raise UsageError(f"there is no rule '{word}'; `pcache rule` lists them")


def select_rules(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> dict[str, Rule]:
    """The rules chosen by ids, names or beginnings of ids (`PC1`); no selection means all but those `by_request`.

    Raises UsageError for a word that no rule answers to.
    """
    words = [word.strip() for word in select]
    usual = {id for id, rule in all_rules().items() if not rule.by_request}
    chosen = {id for id in _matching(words) if id in usual or _asked_for(id, words)} or usual
    left_out = _matching(ignore)
    return {id: rule for id, rule in all_rules().items() if id in chosen and id not in left_out}


def _asked_for(id: str, words: list[str]) -> bool:
    return any(word.casefold() in (id.casefold(), all_rules()[id].name) for word in words)


def _matching(words: Iterable[str]) -> set[str]:
    ids: set[str] = set()
    for word in words:
        prefix = word.strip().upper()
        found = {id for id in all_rules() if re.fullmatch(r"PC\d*", prefix) and id.startswith(prefix)}
        ids |= found or {find_rule(word).id}
    return ids
