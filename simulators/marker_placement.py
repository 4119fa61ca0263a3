"""Where the cache markers of a log's requests should stand: found by replaying the provider's rules.

Unlike markers placed with hindsight, a placement here is a habit that an application can have: "the end of the
system prompt", "the newest message". Markers are added one by one, each where it saves most, up to the
provider's limit, as long as one more saves anything; the provider's minimum length, look-back and lifetimes are
those of the replay. What counts is the price of all prompt tokens in units of an input token.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from analyzers.errors import CannotEvaluateError
from analyzers.request import Request
from analyzers.trace import Trace
from simulators.providers.prompts import Marker, MarkerPolicy
from simulators.providers.replay import Replay, replay
from simulators.providers.rules import CacheRules, Matching, RuleBook
from simulators.providers.what_if import WhatIf

READ_PRICE = 0.1
WRITE_PRICES = {300: 1.25, 1800: 1.25, 3600: 2.0}
"""Prices of a read and a written token (by lifetime in seconds) in units of an input token: Anthropic's and
Bedrock's price lists, November 2026. Where a provider's differ, the order of placements seldom does."""
OTHER_WRITE_PRICE = 1.25
_BACK = 15
"""Blocks from the end: within the look-back of 20 of the next request's newest message."""


class Spot(StrEnum):
    """A place that every request of an application has, or has not."""

    SYSTEM = "the end of the system prompt"
    TOOLS = "the end of the tools"
    FIRST_SYSTEM = "the first block of the system prompt"
    FIRST_MESSAGE = "the end of the first message"
    FIRST_BLOCK = "the first block of the first message"
    NEWEST = "the end of the newest message"
    BEFORE_NEWEST = "the end of the message before the newest"
    TWO_BEFORE = "the end of the message two before the newest"
    BEFORE_LAST_BLOCK = "the block before the last"
    BACK = "15 blocks before the end"


@dataclass(frozen=True, slots=True)
class Costs:
    """Prompt tokens of a log by how they are billed, and their price in units of an input token."""

    read: int
    written: int
    uncached: int
    price: float


@dataclass(frozen=True, slots=True)
class Placement:
    """The markers found: `spots` in the order in which they save most, `ttl_s` their lifetime in seconds.

    `logged` is what the log's own markers cost in the same replay, `placed` what these would, `hindsight` what
    markers cost that know which requests come later: no habit can do much better.
    """

    spots: tuple[Spot, ...]
    ttl_s: int
    logged: Costs
    placed: Costs
    hindsight: Costs
    provider: str

    @property
    def saved(self) -> float:
        """Saved price in units of an input token; not above 0 where the log's markers are as good."""
        return self.logged.price - self.placed.price


@dataclass(frozen=True)
class _Habit(WhatIf):
    """A what-if in which every request has a marker at each of these spots that it has."""

    spots: tuple[Spot, ...] = ()
    lifetime: int = 300
    depths: Sequence[dict[Spot, int]] = ()

    def marker_policy(self, trace: Trace, rules: CacheRules) -> MarkerPolicy | None:
        def place(row: int, block_ends: Sequence[int], markers: Sequence[Marker]) -> list[Marker]:
            known = self.depths[row]
            return [
                Marker(depth, self.lifetime) for depth in sorted({known[s] for s in self.spots if s in known})
            ]

        return place if rules.matching is Matching.BREAKPOINTS else None


def best_placement(
    trace: Trace, book: RuleBook, requests: Sequence[Request] | None = None, provider: str | None = None
) -> Placement:
    """The best markers for a log. Some hundred replays: seconds for a thousand requests.

    Raises CannotEvaluateError where no provider of the log takes markers, and what `replay` raises.
    """
    logged = replay(trace, book, requests, provider)
    marked = [rules for rules in logged.rules if rules.matching is Matching.BREAKPOINTS]
    if not marked:
        names = ", ".join(sorted({rules.title for rules in logged.rules}))
        raise CannotEvaluateError(f"{names}: caching there takes no markers, so there is nothing to place")
    depths = spot_depths(trace)
    limit = min(rules.marker_limit or len(Spot) for rules in marked)
    ttl = marked[0].default_lifetime

    lifetimes = sorted(set.intersection(*(set(rules.lifetimes) for rules in marked)) or {ttl})

    def found_with(lifetime: int) -> tuple[tuple[Spot, ...], Costs, int]:
        def costs(spots: tuple[Spot, ...]) -> Costs:
            habit = _Habit(spots=spots, lifetime=lifetime, depths=depths)
            return costs_of(replay(trace, book, requests, provider, habit))

        return (*_grown(costs, [spot for spot in Spot if any(spot in d for d in depths)], limit), lifetime)

    spots, placed, ttl = min((found_with(lifetime) for lifetime in lifetimes), key=lambda f: f[1].price)
    return Placement(
        spots=spots,
        ttl_s=ttl,
        logged=costs_of(logged),
        placed=placed,
        hindsight=costs_of(replay(trace, book, requests, provider, WhatIf(best_markers=True))),
        provider=", ".join(dict.fromkeys(rules.title for rules in marked)),
    )


def _grown(
    costs: Callable[[tuple[Spot, ...]], Costs], free: Sequence[Spot], limit: int
) -> tuple[tuple[Spot, ...], Costs]:
    """Spots added one by one while one more saves; two at once where only both together do, as a marker that
    writes and one that lies within its look-back."""
    chosen: tuple[Spot, ...] = ()
    best = costs(())
    while True:
        left = [spot for spot in free if spot not in chosen]
        for step in (1, 2):
            if len(chosen) + step > limit:
                return chosen, best
            tried = {added: costs((*chosen, *added)) for added in combinations(left, step)}
            added = min(tried, key=lambda one: tried[one].price, default=None)
            if added is not None and tried[added].price < best.price:
                chosen, best = (*chosen, *added), tried[added]
                break
        else:
            return chosen, best


def costs_of(result: Replay) -> Costs:
    """What a replay bills, over the requests that rules cover."""
    known = result.read >= 0
    written = {ttl: int(tokens[known].sum()) for ttl, tokens in result.written.items()}
    read, uncached = int(result.read[known].sum()), int(result.uncached[known].sum())
    price = uncached + READ_PRICE * read
    price += sum(WRITE_PRICES.get(ttl, OTHER_WRITE_PRICE) * tokens for ttl, tokens in written.items())
    return Costs(read, sum(written.values()), uncached, price)


def spot_depths(trace: Trace) -> list[dict[Spot, int]]:
    """Per request the depth in tokens of each spot that it has."""
    sections = [_section(path) for path in trace.paths]
    found: list[dict[Spot, int]] = []
    for row in range(len(trace)):
        ends = trace.boundaries.of(row).tolist()
        kinds = [sections[path] for path in trace.boundary_paths.of(row).tolist()]
        places: dict[Spot, int] = {}
        messages: dict[int, int] = {}
        for end, (section, index) in zip(ends, kinds, strict=True):
            if section == "tools":
                places[Spot.TOOLS] = end
            elif section == "system":
                places.setdefault(Spot.FIRST_SYSTEM, end)
                places[Spot.SYSTEM] = end
            else:
                places.setdefault(Spot.FIRST_BLOCK, end)
                messages[index] = end
        depths = sorted(messages.values())
        for spot, back in ((Spot.NEWEST, 1), (Spot.BEFORE_NEWEST, 2), (Spot.TWO_BEFORE, 3)):
            if len(depths) >= back:
                places[spot] = depths[-back]
        if depths:
            places[Spot.FIRST_MESSAGE] = depths[0]
        if len(ends) > 1:
            places[Spot.BEFORE_LAST_BLOCK] = ends[-2]
        if len(ends) > _BACK:
            places[Spot.BACK] = ends[-1 - _BACK]
        found.append(places)
    return found


def _section(path: str) -> tuple[str, int]:
    """tools, system or messages, and the index of the message."""
    field, _, rest = path.partition("[")
    name = field.split(".")[0]
    if name in ("tools", "toolConfig", "output_format", "response_format"):
        return "tools", 0
    if name in ("system", "instructions", "systemInstruction"):
        return "system", 0
    index = rest.partition("]")[0]
    return "messages", int(index) if index.isdigit() else 0
