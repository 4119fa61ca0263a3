"""What a rule may ask about the surroundings of a prompt: the model's limits, and how many tokens a text has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzers.templates.exposure import Exposure
from analyzers.templates.parts import Scope, Text

if TYPE_CHECKING:
    from analyzers.rules.sightings import Sighting


@dataclass(frozen=True, slots=True)
class CheckContext:
    """`count_tokens` loads the tokenizer on its first call, so call it only when something was found.

    `minimum_tokens` is the shortest prefix the model caches in tokens, None when not known;
    `context_window` looks up the longest prompt it takes, which costs some time. `marker_limit` and `lifetimes` (in the provider's words, shortest
    first) are those of the provider of the prompt. `exposures` are the varying parts of the prompt that is
    being checked; `scopes` the scopes given by hand, by variable name or pattern. `seen_elsewhere` are values
    that other requests hold too, so that they are constant.
    """

    count_tokens: Callable[[str], int]
    exposures: tuple[Exposure, ...] = ()
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    seen_elsewhere: frozenset[str] = frozenset()
    model: str | None = None
    provider: str | None = None
    minimum_tokens: int | None = None
    context_window: Callable[[], int | None] = lambda: None
    marker_limit: int | None = None
    lifetimes: tuple[str, ...] = ()
    _sightings: "dict[str, list[Sighting]]" = field(default_factory=dict)

    def sightings_of(self, part: Text) -> "list[Sighting]":
        """The live-looking values in a part; each distinct text is searched once."""
        from analyzers.rules.sightings import sightings

        found = self._sightings.get(part.text)
        if found is None:
            found = self._sightings[part.text] = sightings(part.text)
        return found
