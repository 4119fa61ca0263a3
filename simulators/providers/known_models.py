"""Whether a model that an option names is known to anybody, so that a slip is not taken for a model of its own."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from analyzers.errors import UsageError
from simulators.prices import PriceBook
from simulators.prices_base import model_names
from simulators.providers.rules import CacheRules, RuleBook, load_rule_book

_NEAR = 3
_LOOKED_AT = 30


def check_model(
    option: str, model: str, providers: Sequence[str | None], prices: PriceBook, rules: RuleBook
) -> None:
    """Raises UsageError, with the names near it, for the model of this option when no price at these providers and
    no rule file of the user's is about it."""
    if _is_priced(model, providers, prices) or _is_named(model, rules):
        return
    near = get_close_matches(model.lower(), sorted({*model_names(), *prices.own_names()}), _LOOKED_AT)
    shown = [name for name in near if _is_priced(name, providers, prices)][:_NEAR]
    hint = f"near it are {', '.join(shown)}; or " if shown else ""
    raise UsageError(
        f"{option}{model}: this model has no known price here and no rules of its own; {hint}give its prices "
        "with --prices FILE, or its rules with --rules FILE"
    )


def note_of_other_rules(model: str, played: Iterable[CacheRules], rules: RuleBook) -> str | None:
    """What to say where rules were played that are not those of the model's maker; None where they are."""
    own = rules.rules(None, model)
    if own is None:
        return None
    for used in played:
        if own.provider not in (used.provider, rules.files[used.provider].extends):
            return (
                f"{model} is played under the rules of {used.title}; for those of {own.title} "
                f"ask with --provider {own.provider}"
            )
    return None


def _is_priced(model: str, providers: Iterable[str | None], prices: PriceBook) -> bool:
    return any(rule.starts_list for provider in providers for rule in prices.rules_for(provider, model))


def _is_named(model: str, rules: RuleBook) -> bool:
    """Whether a pattern that the bundled files do not have fits: one of the user's."""
    own = rules.patterns() - load_rule_book().patterns()
    return any(fnmatchcase(model.lower().rpartition("/")[2], pattern) for pattern in own)
