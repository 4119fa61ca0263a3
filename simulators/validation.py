"""A simulation held against the world: the counters of a server, or the usage that a provider logged.

Two things are compared: the traffic (prompt tokens, as a share of the world's) and the hit-token ratio (hit tokens /
prompt tokens, difference in points). Both must lie within the tolerance. Where the traffic differs, the ratios are of
different things, and that reason is named first.
"""

from dataclasses import dataclass

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.trace import MISSING, Int64, Trace
from simulators.logged_usage import logged_reads
from simulators.metrics_scrape import CacheCounters

DEFINITIONS = {
    "prompt_tokens": "simulated prompt tokens / the world's - 1, over the same period",
    "hit_token_ratio": "simulated hit tokens / prompt tokens, less the same ratio of the world, in points",
    "tolerance": "the largest difference of either that still counts as agreement",
}


@dataclass(frozen=True)
class Model:
    """What was simulated. `outputs_unknown`: requests whose answers the cache does not hold because their ids are
    not known; `capacity_bound`: whether the simulated cache had a bound at all; `by_provider`: whether a provider's
    rules were played, not an engine."""

    name: str
    prompt_tokens: int
    hit_tokens: int
    requests: int
    outputs_unknown: int = 0
    capacity_bound: bool = True
    by_provider: bool = False


@dataclass(frozen=True)
class World:
    """What was observed. `hit_ratio` always; tokens and requests None where they are not in the model's unit.

    `since_start`: counted since the server started, not over a period with a scrape at each end.
    """

    name: str
    hit_ratio: float
    prompt_tokens: float | None
    hit_tokens: float | None
    requests: float | None
    since_start: bool = False
    engines: int = 1
    models: tuple[str, ...] = ()
    preemptions: float | None = None
    lower_tier_hits: float | None = None


@dataclass(frozen=True)
class Check:
    """One comparison; `difference` is a share of the world's figure for tokens, and in points for a ratio."""

    name: str
    model: float
    world: float
    difference: float
    holds: bool


@dataclass(frozen=True)
class Validation:
    """`agrees` when every check holds; `reasons`, the likeliest first, when one does not."""

    agrees: bool
    tolerance: float
    model: Model
    world: World
    checks: tuple[Check, ...]
    reasons: tuple[str, ...]


def world_of_counters(counters: CacheCounters, since_start: bool) -> World:
    """What a server counted. Raises CannotEvaluateError when it counted nothing or its prefix cache is off."""
    if counters.caching_on is False:
        raise CannotEvaluateError("the server runs with prefix caching off, so there is nothing to compare")
    if counters.queried <= 0:
        raise CannotEvaluateError("the server answered no request in the period of the scrapes")
    if counters.hits > counters.queried:
        raise CannotEvaluateError(
            "the server counts more cached tokens than queried ones; the scrape is damaged"
        )
    return World(
        name=f"{counters.server} /metrics",
        hit_ratio=counters.hits / counters.queried,
        prompt_tokens=counters.queried if counters.in_tokens else counters.prompt_tokens,
        hit_tokens=counters.hits if counters.in_tokens else None,
        requests=counters.requests,
        since_start=since_start,
        engines=counters.series,
        models=counters.models,
        preemptions=counters.preemptions,
        lower_tier_hits=counters.lower_tier_hits,
    )


def logged_against(
    trace: Trace,
    name: str,
    simulated_prompt: Int64,
    simulated_hits: Int64,
    *,
    capacity_bound: bool = False,
    by_provider: bool = False,
) -> tuple[Model, World]:
    """A simulation and the logged usage over the requests that have both; -1 marks an unknown count (int64).

    Raises CannotEvaluateError when no request has both.
    """
    table, reads = trace.requests, logged_reads(trace)
    both = (simulated_hits >= 0) & (simulated_prompt > 0) & (reads >= 0) & (table.usage_prompt > 0)
    if not both.any():
        raise CannotEvaluateError(
            "no request of the log states both prompt and cached tokens, so there is nothing to compare; give "
            "--metrics with a scrape of the server"
        )
    prompt, read = int(table.usage_prompt[both].sum()), int(reads[both].sum())
    rows = int(both.sum())
    model = Model(
        name=name,
        prompt_tokens=int(simulated_prompt[both].sum()),
        hit_tokens=int(simulated_hits[both].sum()),
        requests=rows,
        outputs_unknown=unknown_outputs(trace),
        capacity_bound=capacity_bound,
        by_provider=by_provider,
    )
    return model, World("logged usage", read / prompt, prompt, read, rows)


def unknown_outputs(trace: Trace) -> int:
    """Requests whose answer the cache of a simulation holds no more of than its prompt."""
    table = trace.requests
    answered = (table.output_tokens == MISSING) | (table.output_tokens > 1)
    return int(np.count_nonzero(answered & (table.cached_leaf == table.leaf)))


def validate(model: Model, world: World, tolerance: float) -> Validation:
    """Compare within `tolerance` (0.03: three points, or three percent of the tokens). Raises CannotEvaluateError
    when the model has no prompt tokens."""
    if not model.prompt_tokens:
        raise CannotEvaluateError("the simulation has no prompt tokens, so there is no ratio to compare")
    checks = []
    if world.prompt_tokens:
        difference = model.prompt_tokens / world.prompt_tokens - 1
        holds = abs(difference) <= tolerance
        checks.append(Check("prompt_tokens", model.prompt_tokens, world.prompt_tokens, difference, holds))
    ratio = model.hit_tokens / model.prompt_tokens
    apart = ratio - world.hit_ratio
    checks.append(Check("hit_token_ratio", ratio, world.hit_ratio, apart, abs(apart) <= tolerance))
    agrees = all(check.holds for check in checks)
    reasons = () if agrees else tuple(_reasons(model, world, checks))
    return Validation(agrees, tolerance, model, world, tuple(checks), reasons)


def _reasons(model: Model, world: World, checks: list[Check]) -> list[str]:
    """The likely reasons: first what the figures show, then what they allow."""
    by_name = {check.name: check for check in checks}
    traffic, ratio = by_name.get("prompt_tokens"), by_name["hit_token_ratio"]
    found = []
    if traffic is not None and not traffic.holds:
        found += _reasons_for_traffic(model, world, traffic.difference < 0)
    if ratio.holds:
        return found
    return found + (
        _reasons_for_more(model, world) if ratio.difference < 0 else _reasons_for_less(model, world)
    )


def _reasons_for_traffic(model: Model, world: World, model_has_less: bool) -> list[str]:
    found = []
    if world.requests is not None and world.requests != model.requests:
        found.append(
            f"the log holds {model.requests:,} requests and the world counts {world.requests:,.0f}: they do not cover "
            "the same traffic; bound the log with --since and --until, or scrape right before and after it"
        )
    if len(world.models) > 1:
        found.append(f"the scrape adds up several models ({', '.join(world.models)}); the log may hold one")
    if world.since_start and model_has_less:
        found.append(
            "the counters run since the server started; give a scrape from the start of the log as well"
        )
    found.append(
        "the prompts are counted differently: another tokenizer (--tokenizer), or another chat template "
        "(--chat-template) than the server's"
    )
    return found


def _reasons_for_more(model: Model, world: World) -> list[str]:
    """The world read more than the model."""
    if model.by_provider:
        return [
            "prompts were in the cache before the log begins, or were put there by requests outside it",
            "the rules that were played are older than the provider's (pcache simulate --provider auto names them)",
        ]
    found = []
    if world.lower_tier_hits:
        found.append(
            f"{world.lower_tier_hits:,.0f} tokens came from a lower tier or a connector, which the model does not have"
        )
    if not world.since_start:
        found.append("the cache was warm when the period began, and the model starts cold")
    if model.outputs_unknown:
        found.append(
            f"the answers of {model.outputs_unknown:,} requests are not in the simulated cache because the log lacks "
            "their token ids; the server reads them in the next turn"
        )
    if model.capacity_bound:
        found.append("the server has more room for the cache than was simulated, or keeps entries longer")
    found.append(
        "requests of one tenant or key share in the world what the log's namespaces keep apart (--namespace)"
    )
    return found


def _reasons_for_less(model: Model, world: World) -> list[str]:
    """The world read less than the model."""
    found = []
    if not world.hit_ratio:
        found.append("nothing at all was read: caching is off, not asked for, or does not reach the cache")
    if model.by_provider:
        found += [
            "the provider dropped entries early or sent requests to other machines; pcache simulate --provider auto "
            "gives the verdict on each request",
            "markers, cache keys or parameters changed between the log and the provider, in a gateway for example",
        ]
        return found
    if world.engines > 1:
        found.append(
            f"{world.engines} engines count for themselves, each with a cache of its own; simulate them with "
            "pcache simulate --replicas"
        )
    if world.preemptions:
        found.append(
            f"{world.preemptions:,.0f} requests were preempted: the server ran out of room under load"
        )
    if not model.capacity_bound:
        found.append("the simulated cache has no bound; give the server's own room")
    found += [
        "requests that ran at the same time could not read what another was still computing, and the model serves "
        "them one at a time (pcache simulate --visibility)",
        "the server has less room for the cache than was simulated, or entries expire sooner",
        "the prompts change on their way to the cache: a gateway, a chat template with the date, a salt or an adapter",
    ]
    return found
