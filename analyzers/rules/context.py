"""What a rule may ask about the surroundings of a prompt: the model's limits, and how many tokens a text has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from analyzers.templates.exposure import Exposure
from analyzers.templates.parts import Scope


@dataclass(frozen=True, slots=True)
class CheckContext:
    """`count_tokens` loads the tokenizer on its first call, so call it only when something was found.

    `minimum_tokens` is the shortest prefix the model caches, `context_window` the longest prompt it takes,
    both in tokens and None when not known. `marker_limit` and `lifetimes` (in the provider's words, shortest
    first) are those of the provider of the prompt. `exposures` are the varying parts of the prompt that is
    being checked; `scopes` the scopes given by hand, by variable name or pattern.
    """

    count_tokens: Callable[[str], int]
    exposures: tuple[Exposure, ...] = ()
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    model: str | None = None
    provider: str | None = None
    minimum_tokens: int | None = None
    context_window: int | None = None
    marker_limit: int | None = None
    lifetimes: tuple[str, ...] = ()
