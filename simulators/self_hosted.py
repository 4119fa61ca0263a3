"""Self-hosted: what keeping KV saves in accelerator time, less what it costs to keep, to bring back and to hold.

    effective saving = prefill not computed − KV storage − restore − capacity taken from the accelerator

Times come from a calibration that `pcache probe` measured, or from stated assumptions; which one is in every
result. Money in US dollars.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.trace import NO_TIME, Int64, Trace
from simulators.latency import RESIDENT, Calibration
from simulators.touches import Touches

GB = 10**9

DEFINITIONS = {
    "hit_tokens": "per request the longest prefix whose every token was used within the hold time before, less the "
    "last token of the prompt; room is not bounded",
    "saving": "seconds of prefill not computed x price of the accelerators",
    "storage": "GB x hours that KV lies in the tier x price of the tier; from each use until the next one or the end "
    "of the hold time",
    "restore": "seconds of bringing KV back x price of the accelerators, nothing overlapped",
    "capacity": "KV kept on the accelerator: GB x hours x price of the accelerator / its memory for KV",
    "effective": "saving - storage - restore - capacity",
    "replicas": "seconds of prefill saved / length of the log",
    "holds": "how long a prefix of typical length (the median hit) may wait for its next use until its room has cost "
    "what one hit saves",
}


@dataclass(frozen=True, slots=True)
class Assumed:
    """Stated assumptions in place of a calibration: prefill and restore at constant rates."""

    prefill_tokens_per_s: float
    kv_bytes_per_token: float
    restore_bytes_per_s: float | None = None
    """None: the KV stays on the accelerator."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What the hardware costs. `memory_gb` is what KV may use on one accelerator; `usd_per_gb_hour` the price of
    room in tiers outside it (0 where that memory is there anyway). KV is kept in `tier`, `hold_s` seconds after its
    last use."""

    gpu_usd_per_hour: Decimal
    gpus: int
    memory_gb: float
    tier: str
    usd_per_gb_hour: Mapping[str, Decimal]
    hold_s: float

    def room_price(self, tier: str) -> Decimal:
        """Dollars per GB and hour in this tier; on the accelerator that share of its own price."""
        if tier == RESIDENT:
            return self.gpu_usd_per_hour / Decimal(repr(self.memory_gb))
        return self.usd_per_gb_hour[tier]


@dataclass(frozen=True, slots=True)
class Hold:
    """How long a prefix of typical length is worth keeping in a tier between two uses; None: always."""

    tier: str
    usd_per_gb_hour: Decimal
    break_even_gap_s: float | None


@dataclass(frozen=True, slots=True)
class EffectiveSaving:
    """Seconds of accelerator time and money over the log. `effective` = saving − storage − restore − capacity.

    `basis` says in words what times and sizes rest on. `replicas` is the number of replicas' worth of prefill saved: saved seconds / length of the log.
    `holds` is the hold rule for a prefix of `typical_tokens`, in each tier whose price is known.
    """

    basis: str
    hit_tokens: int
    hit_share: float
    prefill_saved_s: float
    restore_s: float
    saving: Decimal
    storage: Decimal
    restore: Decimal
    capacity: Decimal
    gb_hours: float
    replicas: float | None
    typical_tokens: int
    holds: tuple[Hold, ...]
    effective: Decimal


def effective_saving(
    trace: Trace, touches: Touches, fleet: Fleet, model: Calibration | Assumed
) -> EffectiveSaving:
    """What a cache that holds each prefix `fleet.hold_s` seconds after its last use brings over the log.

    A hit is the longest prefix whose tokens were used within that time, less the last token of the prompt.
    Raises CannotEvaluateError when the log has no times.
    """
    times = trace.requests.time_ns
    if (times == NO_TIME).all():
        raise CannotEvaluateError("the log has no times, so how long KV would be held is not known")
    prompt = trace.requests.prompt_tokens
    hits = np.minimum(_live(touches, fleet.hold_s, len(trace)), np.maximum(prompt - 1, 0))
    clock = _Clock(model, fleet.tier)
    per_second = fleet.gpu_usd_per_hour * fleet.gpus / 3600
    saved = float((clock.prefill(prompt, np.zeros_like(prompt)) - clock.prefill(prompt - hits, hits)).sum())
    restored = float(clock.restore(hits).sum())
    gb_hours = _gb_hours(touches, fleet.hold_s, clock)
    on_device = fleet.tier == RESIDENT
    room = fleet.room_price(fleet.tier) * _decimal(gb_hours)
    capacity = room if on_device else Decimal(0)
    known = times[times != NO_TIME]
    length_s = float(known.max() - known.min()) / 1e9
    typical = int(np.median(hits[hits > 0])) if (hits > 0).any() else 0
    saving, restore = _decimal(saved) * per_second, _decimal(restored) * per_second
    storage = Decimal(0) if on_device else room
    return EffectiveSaving(
        basis=_basis(model, prompt, hits, fleet.tier),
        hit_tokens=int(hits.sum()),
        hit_share=float(hits.sum() / max(int(prompt.sum()), 1)),
        prefill_saved_s=saved,
        restore_s=restored,
        saving=saving,
        storage=storage,
        restore=restore,
        capacity=capacity,
        gb_hours=gb_hours,
        replicas=saved / length_s if length_s > 0 else None,
        typical_tokens=typical,
        holds=_holds(typical, model, fleet),
        effective=saving - storage - restore - capacity,
    )


@dataclass(frozen=True, slots=True)
class _Clock:
    """Prefill, restore and size, whatever they rest on."""

    model: Calibration | Assumed
    tier: str

    def prefill(self, new: Int64, cached: Int64) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if isinstance(self.model, Calibration):
            return self.model.prefill_seconds(new, cached)
        return np.asarray(new, np.float64) / self.model.prefill_tokens_per_s

    def restore(self, tokens: Int64) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if isinstance(self.model, Calibration):
            return self.model.restore_seconds(tokens, self.tier)
        rate = self.model.restore_bytes_per_s
        return np.zeros(len(tokens)) if rate is None else self.bytes(tokens) / rate

    def bytes(self, tokens: Int64) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if isinstance(self.model, Calibration):
            kept = 1.0 if self.tier == RESIDENT else self.model.tier(self.tier).stored_bytes_ratio
            return self.model.kv_bytes(tokens) * kept
        return np.asarray(tokens, np.float64) * self.model.kv_bytes_per_token


def _basis(model: Calibration | Assumed, prompt: Int64, hits: Int64, tier: str) -> str:
    """What times and sizes rest on, in words."""
    if isinstance(model, Assumed):
        return "assumed, as stated"
    source = f"pcache probe's calibration of {model.model.name} on {model.machine.device_name}"
    doubt = "" if model.trusted else "; that machine was too noisy to trust"
    whole = model.provenance(prompt)
    if whole == model.provenance(prompt - hits, hits, tier) == "measured":
        return f"measured, by {source}{doubt}"
    return (
        f"projected from {source}: the log has prompts or hits outside the lengths it measured (prompts up to "
        f"{model.prefill.longest_total:,} tokens, {model.prefill.longest_cached:,} of them cached){doubt}"
    )


def _live(touches: Touches, hold_s: float, rows: int) -> Int64:
    """Per request the tokens of its path touched within the hold time: ancestors are always as recent."""
    live = ~touches.first & (touches.gap_s <= hold_s)
    weights = touches.tokens[touches.node[live]].astype(np.float64)
    return np.bincount(touches.row[live], weights, minlength=rows).astype(np.int64)


def _gb_hours(touches: Touches, hold_s: float, clock: _Clock) -> float:
    """Room times time: each touch keeps its tokens until the next touch or until the hold time ends."""
    held = np.full(len(touches.node), hold_s)
    # gap_s[i + 1] is the time from touch i to the next one of the same node; inf where there is none.
    held[:-1] = np.minimum(touches.gap_s[1:], hold_s)
    per_token = float(clock.bytes(np.array([1000], np.int64))[0]) / 1000
    return float((held * touches.tokens[touches.node]).sum() * per_token / GB / 3600)


def _holds(tokens: int, model: Calibration | Assumed, fleet: Fleet) -> tuple[Hold, ...]:
    """The saving of one hit over the price of keeping the prefix a second, by tier."""
    if tokens == 0:
        return ()
    tiers = dict.fromkeys([fleet.tier, *fleet.usd_per_gb_hour])
    if isinstance(model, Calibration):
        tiers = {tier: None for tier in tiers if tier in model.tier_names()}
    one, new = np.array([tokens], np.int64), np.array([64], np.int64)
    found = []
    for tier in tiers:
        clock = _Clock(model, tier)
        spared = clock.prefill(one + new, one * 0) - clock.prefill(new, one) - clock.restore(one)
        saved = float(spared[0]) * float(fleet.gpu_usd_per_hour) * fleet.gpus / 3600
        price = fleet.room_price(tier)
        hold = float(clock.bytes(one)[0]) / GB * float(price) / 3600
        gap = 0.0 if saved <= 0 else saved / hold if hold else None
        found.append(Hold(tier, price, gap))
    return tuple(found)


def _decimal(value: float) -> Decimal:
    """A measured quantity as Decimal: it carries no more digits than a double has."""
    return Decimal(repr(value))
