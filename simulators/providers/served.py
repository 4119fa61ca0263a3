"""What a cache did for one request, and the one question every matching model answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from simulators.providers.prompts import Prompt


class Why(StrEnum):
    """Why a request read no more than it did."""

    NOTHING_MORE = "nothing more was cached"
    NO_MARKER = "no marker"
    TOO_MANY_MARKERS = "more markers than the provider takes"
    TTL_ORDER = "a longer lifetime after a shorter one"
    BELOW_MINIMUM = "the shared prefix is shorter than the minimum"
    EXPIRED = "expired"
    NOT_YET = "not yet readable when the request started"
    LOOKBACK = "behind the look-back"
    NOT_A_BREAKPOINT = "cached text without an entry that ends there"
    PARAMETER = "a parameter of the cache key changed"
    ROUTING = "another routing key"


@dataclass(frozen=True, slots=True)
class Served:
    """Tokens of one request, in the provider's count. `read_is_exact`: the log itself determines the figure
    (earlier read + earlier write), else it is the trace's count scaled to the logged prompt."""

    read: int
    written: Mapping[int, int]
    why: Why
    read_is_exact: bool = False


class CacheModel(Protocol):
    """A provider's cache. It is shown the requests in time order and keeps its own state."""

    def serve(self, prompt: Prompt) -> Served:
        """What this request reads and writes; the cache afterwards holds what it wrote."""
        ...
