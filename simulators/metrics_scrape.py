"""The prefix-cache counters in a Prometheus scrape of a vLLM or SGLang server.

vLLM (v1) counts queried and cached tokens: `vllm:prefix_cache_queries` and `vllm:prefix_cache_hits`; first
releases of v1 named them `vllm:gpu_prefix_cache_…` and some counted blocks. SGLang counts prompt tokens and, by where
they lay, cached ones: `sglang:prompt_tokens_total`, `sglang:cached_tokens_total`; it adds each request either to the
sources or to the source "total", never to both. Clients write counters with the ending `_total`.
Sources: vllm/v1/metrics/loggers.py, sglang/srt/metrics/collector.py (read November 2026).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analyzers.errors import CannotEvaluateError, InputError

_SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(.*)\})?\s+([+-]?(?:[0-9.]+(?:[eE][+-]?[0-9]+)?|Inf|NaN))(?:\s+-?[0-9]+)?"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Sample:
    """One line of a scrape."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class CacheCounters:
    """What a server has counted since it started, all its engines together; None for what it does not say.

    `queried` is in the unit of `hits`: tokens, or unknown (`in_tokens` False), which leaves the ratio.
    `lower_tier_hits`: tokens that a connector or a lower tier served. `settings` are options of the simulated engine
    of that name, as the server states them; `series` counts engines with counters of their own.
    """

    server: str
    queried: float
    hits: float
    in_tokens: bool
    prompt_tokens: float | None
    requests: float | None
    preemptions: float | None
    lower_tier_hits: float | None
    settings: Mapping[str, float]
    caching_on: bool | None
    series: int
    models: tuple[str, ...]


def parse_scrape(text: str, source: str) -> list[Sample]:
    """The samples of a scrape in the Prometheus text format. Raises InputError when there is none."""
    samples = []
    for line in text.splitlines():
        match = _SAMPLE.fullmatch(line.strip())
        if match is not None:
            labels = dict(_LABEL.findall(match[2] or ""))
            samples.append(Sample(match[1], labels, float(match[3])))
    if not samples:
        raise InputError(
            f"{source} holds no metrics in the Prometheus text format; give what /metrics returns"
        )
    return samples


def cache_counters(samples: Iterable[Sample], source: str) -> CacheCounters:
    """The cache counters of a scrape. Raises CannotEvaluateError when it has none that can be compared."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    for read in (_vllm, _sglang):
        found = read(by_name)
        if found is not None:
            return found
    gauges = [n for n in ("sglang:cache_hit_rate", "vllm:gpu_prefix_cache_hit_rate") if n in by_name]
    if gauges:
        raise CannotEvaluateError(
            f"{source} has only the gauge {gauges[0]}, the rate of the last moments and not of a period; scrape a "
            "version with counters (vllm:prefix_cache_hits, sglang:cached_tokens_total)"
        )
    raise CannotEvaluateError(
        f"{source} has neither vllm:prefix_cache_queries and vllm:prefix_cache_hits nor sglang:prompt_tokens_total and "
        "sglang:cached_tokens_total; scrape a vLLM or SGLang server with metrics on"
    )


def between(before: CacheCounters, after: CacheCounters) -> CacheCounters:
    """What was counted from one scrape to the next. Raises CannotEvaluateError when the server restarted or the
    scrapes are not of one server."""
    if before.server != after.server or before.series != after.series or before.models != after.models:
        raise CannotEvaluateError("the two scrapes are not of the same server; scrape one before and after")
    if after.queried < before.queried or after.hits < before.hits:
        raise CannotEvaluateError(
            "the counters of the second scrape are lower than those of the first: the server restarted in between, "
            "or the scrapes are given in the wrong order"
        )
    return CacheCounters(
        server=after.server,
        queried=after.queried - before.queried,
        hits=after.hits - before.hits,
        in_tokens=after.in_tokens,
        prompt_tokens=_less(after.prompt_tokens, before.prompt_tokens),
        requests=_less(after.requests, before.requests),
        preemptions=_less(after.preemptions, before.preemptions),
        lower_tier_hits=_less(after.lower_tier_hits, before.lower_tier_hits),
        settings=after.settings,
        caching_on=after.caching_on,
        series=after.series,
        models=after.models,
    )


def _vllm(by_name: Mapping[str, list[Sample]]) -> CacheCounters | None:
    for prefix, in_tokens in (("vllm:prefix_cache", True), ("vllm:gpu_prefix_cache", False)):
        queried, hits = _total(by_name, f"{prefix}_queries"), _total(by_name, f"{prefix}_hits")
        if queried is None or hits is None:
            continue
        config = next(iter(by_name.get("vllm:cache_config_info", [])), None)
        labels = {} if config is None else config.labels
        return CacheCounters(
            server="vllm",
            queried=queried,
            hits=hits,
            in_tokens=in_tokens,
            prompt_tokens=_total(by_name, "vllm:prompt_tokens"),
            requests=_total(by_name, "vllm:request_success"),
            preemptions=_total(by_name, "vllm:num_preemptions"),
            lower_tier_hits=_total(by_name, "vllm:external_prefix_cache_hits"),
            settings=_numbers({"num-gpu-blocks": "num_gpu_blocks", "block-size": "block_size"}, labels),
            caching_on={"true": True, "false": False}.get(labels.get("enable_prefix_caching", "").lower()),
            series=len(_samples(by_name, f"{prefix}_hits")),
            models=_models(by_name, f"{prefix}_hits"),
        )
    return None


def _sglang(by_name: Mapping[str, list[Sample]]) -> CacheCounters | None:
    prompts = _total(by_name, "sglang:prompt_tokens")
    cached = _samples(by_name, "sglang:cached_tokens")
    if prompts is None or (not cached and "sglang:cache_hit_rate" not in by_name):
        return None
    if not cached:
        return None
    lower = [s.value for s in cached if s.labels.get("cache_source", "total") not in ("total", "device")]
    room = _total(by_name, "sglang:max_total_num_tokens")
    config = next(iter(by_name.get("sglang:cache_config_info", [])), None)
    settings = _numbers({"page-size": "page_size"}, {} if config is None else config.labels)
    engines = _samples(by_name, "sglang:prompt_tokens")
    return CacheCounters(
        server="sglang",
        queried=prompts,
        hits=sum(s.value for s in cached),
        in_tokens=True,
        prompt_tokens=prompts,
        requests=_total(by_name, "sglang:num_requests"),
        preemptions=_total(by_name, "sglang:num_retracted_requests"),
        lower_tier_hits=sum(lower) if lower else None,
        settings=settings if room is None else {"max-total-tokens": room, **settings},
        caching_on=None,
        series=len(engines),
        models=_models(by_name, "sglang:prompt_tokens"),
    )


def _samples(by_name: Mapping[str, list[Sample]], name: str) -> list[Sample]:
    return by_name.get(f"{name}_total") or by_name.get(name) or []


def _total(by_name: Mapping[str, list[Sample]], name: str) -> float | None:
    found = _samples(by_name, name)
    return sum(s.value for s in found) if found else None


def _models(by_name: Mapping[str, list[Sample]], name: str) -> tuple[str, ...]:
    return tuple(
        sorted({s.labels["model_name"] for s in _samples(by_name, name) if "model_name" in s.labels})
    )


def _numbers(options: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, float]:
    return {
        name: float(labels[label]) for name, label in options.items() if labels.get(label, "").isdecimal()
    }


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
