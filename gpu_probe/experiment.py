"""The shared-prefix experiment: the same requests with and without reusing the KV of their common prefix.

A widely read demonstration sends a hundred prompts that share a long system prompt and shows total time with
a key-value cache against without. Here both sides run in turn, request by request, so that whatever else the
machine does falls on both alike, and the first tokens of both sides are compared.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gpu_probe import machine
from gpu_probe.forward import empty_cache, prefill, random_ids
from gpu_probe.kv_image import KvImage, capture, rebuild
from gpu_probe.memory import PeakResident, out_of_memory_as_a_sentence
from gpu_probe.models import LoadedModel, ModelRequest, load_model
from gpu_probe.timing import compute_clock
from simulators.calibration import Machine, ModelCard

_MEMORY_REQUESTS = 3


@dataclass(frozen=True)
class ExperimentOptions:
    """`requests` prompts of one shared prefix of `prefix` tokens and `suffix` tokens of their own."""

    request: ModelRequest
    requests: int = 100
    prefix: int = 500
    suffix: int = 50
    threads: int = 1


@dataclass(frozen=True)
class Side:
    """One way of serving the requests. `total_s` is the sum of the times to first token plus, with reuse, the
    one prefill of the prefix (`prefix_s`). `peak_bytes` is torch's peak on CUDA, the process's on the host."""

    total_s: float
    prefix_s: float
    p50_ttft_s: float
    p95_ttft_s: float
    peak_bytes: int
    computed_tokens: int


@dataclass(frozen=True)
class SharedPrefix:
    """What the experiment measured; `requests` is how many were run on both sides."""

    schema_version: int
    model: ModelCard
    machine: Machine
    versions: dict[str, str]
    requests: int
    requests_asked: int
    prefix: int
    suffix: int
    without: Side
    reuse: Side
    speedup: float
    same_first_token: int
    kv_bytes: int


def run_shared_prefix(
    options: ExperimentOptions, progress: Callable[[str], None] = lambda _: None
) -> SharedPrefix:
    """Run the experiment. An interruption ends it early with what was measured, if a pair of runs was."""
    before = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        with out_of_memory_as_a_sentence():
            progress("loading the model")
            return _run(load_model(options.request), options, progress)
    finally:
        torch.set_num_threads(before)


def _run(loaded: LoadedModel, options: ExperimentOptions, progress: Callable[[str], None]) -> SharedPrefix:
    generator = torch.Generator().manual_seed(options.request.seed)
    clock = compute_clock(loaded.device, options.threads)
    shared = random_ids(loaded, options.prefix, generator)
    progress("measuring memory")
    peak_without = _peak(loaded, lambda: _first_token(loaded, _prompt(loaded, shared, options, generator)))
    _prefix_state(loaded, shared)
    cold = clock.time(lambda: _prefix_state(loaded, shared))
    state = _prefix_state(loaded, shared)
    peak_reuse = _peak(
        loaded,
        lambda: _first_token(loaded, random_ids(loaded, options.suffix, generator), state, options.prefix),
    )
    without: list[float] = []
    reuse: list[float] = []
    tokens: list[list[int]] = []
    try:
        for number in range(options.requests):
            progress(f"request {number + 1} of {options.requests}")
            suffix = random_ids(loaded, options.suffix, generator)
            whole = torch.cat([shared, suffix], dim=1)
            seen: list[int] = []

            def compute(ids: torch.Tensor = whole, seen: list[int] = seen) -> None:
                seen.append(_first_token(loaded, ids))

            def reuse_prefix(ids: torch.Tensor = suffix, seen: list[int] = seen) -> None:
                seen.append(_first_token(loaded, ids, state, options.prefix))

            cold_run, warm_run = clock.time(compute), clock.time(reuse_prefix)
            without.append(cold_run.seconds)
            reuse.append(warm_run.seconds)
            tokens.append(seen)
    except KeyboardInterrupt:
        if not tokens:
            raise
    done = len(tokens)
    total_without, total_reuse = sum(without[:done]), cold.seconds + sum(reuse[:done])
    whole_length = options.prefix + options.suffix
    return SharedPrefix(
        schema_version=1,
        model=loaded.card,
        machine=machine.describe_machine(loaded.device, options.threads, clock.name, {}),
        versions=machine.versions(),
        requests=done,
        requests_asked=options.requests,
        prefix=options.prefix,
        suffix=options.suffix,
        without=_side(without[:done], 0.0, total_without, peak_without, done * whole_length),
        reuse=_side(
            reuse[:done], cold.seconds, total_reuse, peak_reuse, options.prefix + done * options.suffix
        ),
        speedup=total_without / total_reuse,
        same_first_token=sum(first == second for first, second in tokens),
        kv_bytes=state.layout.nbytes,
    )


def _side(ttft: list[float], prefix_s: float, total_s: float, peak_bytes: int, computed: int) -> Side:
    p50, p95 = np.quantile(ttft, [0.5, 0.95])
    return Side(total_s, prefix_s, float(p50), float(p95), peak_bytes, computed)


def _prompt(
    loaded: LoadedModel, shared: torch.Tensor, options: ExperimentOptions, generator: torch.Generator
) -> torch.Tensor:
    return torch.cat([shared, random_ids(loaded, options.suffix, generator)], dim=1)


def _prefix_state(loaded: LoadedModel, shared: torch.Tensor) -> KvImage:
    cache = empty_cache(loaded)
    prefill(loaded, shared, cache, cached=0)
    return capture(cache)


def _first_token(
    loaded: LoadedModel, ids: torch.Tensor, state: KvImage | None = None, cached: int = 0
) -> int:
    """The most likely token after `ids`, behind the kept state when there is one."""
    cache = empty_cache(loaded) if state is None else rebuild(state, loaded.config)
    return int(prefill(loaded, ids, cache, cached=cached)[-1].argmax())


def _peak(loaded: LoadedModel, request: Callable[[], object]) -> int:
    with PeakResident(loaded.device) as peak:
        for _ in range(_MEMORY_REQUESTS):
            request()
    return peak.resident_bytes if peak.device_bytes is None else peak.device_bytes
