"""Measure storing and restoring KV in every tier, and restoring while the suffix is computed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from gpu_probe.forward import prefill, random_ids
from gpu_probe.kv_file import Fingerprint
from gpu_probe.kv_image import KvImage, rebuild
from gpu_probe.models import LoadedModel
from gpu_probe.overlap import LayerwiseRestore
from gpu_probe.tiers.base import Tier, TierFailedError
from gpu_probe.tiers.disk import DiskTier
from gpu_probe.tiers.memory import MemoryTier, PerLayerTier
from gpu_probe.tiers.quantised import Encoding, QuantisedTier
from gpu_probe.tiers.redis import RedisTier
from gpu_probe.timing import (
    CONTENDED,
    Clock,
    Sample,
    copy_clock,
    estimate,
    noise,
    relative_half_width,
    wall_clock,
)
from gpu_probe.verify import Exam, logit_error
from simulators.calibration import Check, CopyCell, OverlapCell

_MOST_SAMPLES = 30
# What goes over a disk or a socket needs no larger state to show its rate, and takes seconds each.
_MOST_WAITING_BYTES = 2**30
_ENCODINGS: tuple[Encoding, ...] = ("fp8", "int8")


@dataclass
class Restores:
    """What the restore stage has so far; failures are sentences for the warnings."""

    cells: list[CopyCell] = field(default_factory=list)
    overlaps: list[OverlapCell] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    logit_errors: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TierPlan:
    """Where tiers may put things: a folder for files, a Redis client or None."""

    folder: Path
    redis_client: Any | None
    threads: int
    cache_bytes: int


def make_tiers(loaded: LoadedModel, plan: TierPlan, owner: Fingerprint, largest_bytes: int) -> list[Tier]:
    """The tiers this machine has. Without CUDA the device and host memory are the same, hence one tier."""
    host = torch.device("cpu")
    pool = max(largest_bytes, 2 * plan.cache_bytes)
    tiers: list[Tier] = []
    if loaded.device.type == "cuda":
        best = MemoryTier("pinned", host, pinned=True, pool_bytes=pool)
        tiers += [MemoryTier("device", loaded.device, pinned=False, pool_bytes=pool), best]
        tiers.append(MemoryTier("pageable", host, pinned=False, pool_bytes=pool))
    else:
        best = MemoryTier("pageable", host, pinned=False, pool_bytes=pool)
        tiers.append(best)
    tiers.append(PerLayerTier(best))
    tiers += [QuantisedTier(best, encoding) for encoding in _ENCODINGS]
    tiers += [DiskTier(plan.folder, owner, cold=False), DiskTier(plan.folder, owner, cold=True)]
    if plan.redis_client is not None:
        tiers.append(RedisTier(plan.redis_client, owner))
    return tiers


def measure_tiers(
    found: Restores,
    loaded: LoadedModel,
    images: dict[int, KvImage],
    tiers: Sequence[Tier],
    plan: TierPlan,
    deadline: float,
    on_tier: Callable[[str], None] | None = None,
) -> None:
    """Fill `found` with every tier at the lengths of `images` (tokens → state on the device), sharing the time
    left fairly. At least the shortest and the longest are measured. A
    tier that fails is recorded as a sentence and left out."""
    try:
        for number, tier in enumerate(tiers):
            if on_tier is not None:
                on_tier(tier.name)
            share = max(deadline - time.perf_counter(), 0.0) / (len(tiers) - number)
            clock = wall_clock(loaded.device) if tier.waits else copy_clock(loaded.device, plan.threads)
            try:
                _measure_lengths(found, tier, images, clock, share, plan.cache_bytes)
            except TierFailedError as problem:
                found.failures.append(str(problem))
            except (torch.OutOfMemoryError, MemoryError):
                found.failures.append(f"tier {tier.name}: not enough memory for the longest prefix")
    finally:
        for tier in tiers:
            tier.close()


def _measure_lengths(
    found: Restores,
    tier: Tier,
    images: dict[int, KvImage],
    clock: Clock,
    share: float,
    cache_bytes: int,
) -> None:
    """Shortest and longest first, so that the measured range is whole; the others as long as time is left."""
    began = time.perf_counter()
    lengths = sorted(images)
    if tier.waits:
        lengths = [n for n in lengths if images[n].buffer.numel() <= _MOST_WAITING_BYTES]
    for position, tokens in enumerate([lengths[0], lengths[-1], *lengths[1:-1]]):
        left = share - (time.perf_counter() - began)
        if position >= 2 and left <= 0:
            return
        until = time.perf_counter() + max(left, 0.0) / (len(lengths) - position)
        _measure(found, tier, tokens, images[tokens], clock, until, cache_bytes)


def _measure(
    found: Restores,
    tier: Tier,
    tokens: int,
    image: KvImage,
    clock: Clock,
    until: float,
    cache_bytes: int,
) -> None:
    """One tier at one length, both directions."""
    began = time.perf_counter()
    size = image.buffer.numel()
    cuda = image.buffer.is_cuda
    copies = 1 if cuda else min(max(1, -(-2 * cache_bytes // max(size, 1))), 64)
    targets = [torch.zeros_like(image.buffer) for _ in range(copies)]
    kept = tier.store(image)
    stores = _sample(lambda _: tier.store(image), clock, began + (until - began) / 3)
    tier.prepare()
    tier.restore(targets[0])
    restores = _sample(
        lambda turn: tier.restore(targets[turn % copies]), clock, until, before=lambda _: tier.prepare()
    )
    contended = _contended(clock, stores + restores)
    for direction, samples in (("store", stores), ("restore", restores)):
        seconds = [sample.seconds for sample in samples]
        found.cells.append(
            CopyCell(
                tier=tier.name,
                direction="restore" if direction == "restore" else "store",
                tokens=tokens,
                size=kept,
                seconds=seconds,
                estimate_s=estimate(seconds, contended),
            )
        )
    if not isinstance(tier, QuantisedTier):
        same = torch.equal(targets[0], image.buffer)
        found.checks = [check for check in found.checks if check.name != f"tier {tier.name}: bytes equal"]
        found.checks.append(Check(f"tier {tier.name}: bytes equal", same, None, None, f"{tokens} tokens"))


def measure_lossy(found: Restores, loaded: LoadedModel, exam: Exam, tiers: Sequence[Tier]) -> None:
    """Record what each lossy copy does to the logits of the exam."""
    for tier in tiers:
        if isinstance(tier, QuantisedTier):
            decoded = KvImage(exam.image.layout, torch.zeros_like(exam.image.buffer))
            tier.store(exam.image)
            tier.restore(decoded.buffer)
            found.logit_errors[tier.name] = logit_error(loaded, exam, decoded)


def _sample(
    action: Callable[[int], object],
    clock: Clock,
    until: float,
    before: Callable[[int], object] | None = None,
) -> list[Sample]:
    """Samples until settled (2 % on CUDA, 5 % on the host), out of time, or 30; at least one."""
    target = 0.02 if clock.device.type == "cuda" else 0.05
    samples: list[Sample] = []
    while not samples or (time.perf_counter() < until and len(samples) < _MOST_SAMPLES):
        turn = len(samples) + 1
        if before is not None:
            before(turn)
        samples.append(clock.time(lambda turn=turn: action(turn)))  # type: ignore[misc]
        seconds = [sample.seconds for sample in samples]
        if relative_half_width(seconds, _contended(clock, samples)) <= target:
            break
    return samples


def _contended(clock: Clock, samples: Sequence[Sample]) -> bool:
    return clock.device.type != "cuda" and (noise(samples) or 1.0) > CONTENDED


def measure_overlap(
    found: Restores,
    loaded: LoadedModel,
    image: KvImage,
    cached: int,
    suffixes: Sequence[int],
    generator: torch.Generator,
    repeats: int = 3,
) -> None:
    """Restore from host memory, then compute the suffix, against layer by layer while computing it; the
    fastest of a few alternating runs each, by the wall clock (both sides work at once)."""
    cuda = loaded.device.type == "cuda"
    tier = MemoryTier("pinned" if cuda else "pageable", torch.device("cpu"), pinned=cuda, pool_bytes=0)
    tier.store(image)
    target = torch.zeros_like(image.buffer)
    clock = wall_clock(loaded.device)
    restore = LayerwiseRestore(loaded, image.layout, tier, target)
    for new in suffixes:
        sequential, overlapped = [], []
        for _ in range(repeats + 1):
            ids = random_ids(loaded, new, generator)

            def one_after_the_other(ids: torch.Tensor = ids) -> None:
                tier.restore(target)
                prefill(loaded, ids, rebuild(KvImage(image.layout, target), loaded.config), cached=cached)

            def together(ids: torch.Tensor = ids) -> None:
                with restore.running() as cache:
                    prefill(loaded, ids, cache, cached=cached)

            sequential.append(clock.time(one_after_the_other).wall_s)
            overlapped.append(clock.time(together).wall_s)
        found.overlaps.append(OverlapCell(tier.name, new, cached, min(overlapped[1:]), min(sequential[1:])))
    tier.close()
