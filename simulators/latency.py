"""The latency side of a cache: what prefill and restore cost, by a calibration measured on a real model.

`pcache probe` writes a `calibration.json`; this module reads it and answers. It needs numpy and msgspec,
never torch. All times are seconds, all lengths tokens, all sizes bytes. Nothing here is assumed: without
a calibration there is no latency model.

    calibration = load_calibration(Path("calibration.json"))
    calibration.prefill_seconds(new=512, cached=0)           # time to compute 512 tokens from nothing
    calibration.restore_seconds(4096, "pinned")              # time to bring 4096 tokens of KV back
    calibration.ttft_seconds(new=64, cached=4096, tier="pinned")
    calibration.break_even("pinned").tokens                  # from which prefix length restoring wins

An answer inside the measured lengths comes from the fit with the error printed by the probe and is
`measured`; outside, or for another attention kernel, it is `projected` (see `Calibration.provenance`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyzers.errors import InputError, UsageError
from simulators.calibration import (
    Check,
    CopyCell,
    Floats,
    Geometry,
    Kernel,
    KvBytes,
    Machine,
    ModelCard,
    OverlapCell,
    PrefillCell,
    PrefillFit,
    Term,
    Tier,
)

SCHEMA_VERSION = 1
RESIDENT = "resident"
"""The tier of KV that never left the device: a paged engine maps it, so a hit costs no copy."""

Provenance = Literal["measured", "projected"]


@dataclass(frozen=True)
class BreakEven:
    """The shortest prefix from which restoring beats computing; `tokens` None: not below `searched_to`."""

    tier: str
    tokens: int | None
    searched_to: int
    provenance: Provenance


@dataclass(frozen=True)
class HoldRule:
    """Hold a prefix while its expected reuse gap is below `break_even_gap_s` (0.0: never worth holding;
    None: always, because holding costs nothing at this price).

    Money in US dollars. The rule is the rent-or-buy balance of Gray and Putzolu's five-minute rule (SIGMOD
    1987) with prefill time as the price of a miss; as a time to live it is 2-competitive (ski rental).
    """

    tier: str
    tokens: int
    saved_s: float
    saved_usd: float
    hold_usd_per_s: float
    break_even_gap_s: float | None


@dataclass(frozen=True)
class TtftSummary:
    """Time to first token over requests, computed from prefill and restore only: no queue, no network."""

    tier: str
    requests: int
    p50_without_s: float
    p95_without_s: float
    p50_with_s: float
    p95_with_s: float
    mean_saved_s: float
    provenance: Provenance
    model: str
    machine: str


@dataclass(frozen=True)
class Calibration:
    """Everything one run of the probe measured and fitted; the document is this class as JSON."""

    schema_version: int
    format: Literal["pcache-calibration"]
    created: str
    complete: bool
    trusted: bool
    machine: Machine
    versions: dict[str, str]
    model: ModelCard
    kv: KvBytes
    prefill: PrefillFit
    tiers: list[Tier]
    prefill_cells: list[PrefillCell]
    copy_cells: list[CopyCell]
    overlap_cells: list[OverlapCell]
    checks: list[Check]
    warnings: list[str]
    peak_memory_bytes: int | None = None
    """torch's allocator on CUDA, the whole process on the host."""

    def tier_names(self) -> list[str]:
        """Names that `tier=` accepts, `resident` first."""
        return [RESIDENT, *(tier.name for tier in self.tiers)]

    def tier(self, name: str) -> Tier:
        """The tier of that name. Raises UsageError with the names there are."""
        for tier in self.tiers:
            if tier.name == name:
                return tier
        raise UsageError(f"the calibration has no tier '{name}'; it has {', '.join(self.tier_names())}")

    def kv_bytes(self, tokens: ArrayLike) -> Floats:
        """Bytes the live cache keeps for a prefix of `tokens` tokens (any shape); 0 for an empty prefix."""
        tokens = np.asarray(tokens, dtype=np.float64)
        kept = tokens if self.kv.window is None else np.minimum(tokens, self.kv.window - 1)
        size = tokens * self.kv.per_token_full + kept * self.kv.per_token_window + self.kv.fixed
        return np.where(tokens > 0, size, 0.0)

    def prefill_seconds(self, new: ArrayLike, cached: ArrayLike = 0) -> Floats:
        """Seconds until the first token's logits when `new` tokens follow `cached` ones already in place.

        Arguments broadcast; the result is float64 of the broadcast shape.
        """
        columns = features(self.model.geometry, self.prefill.kernel, new, cached)
        total = sum((term.seconds * columns[term.feature] for term in self.prefill.terms), np.zeros(()))
        return np.maximum(np.broadcast_to(total, columns["new"].shape), self.prefill.floor_s)

    def restore_seconds(self, tokens: ArrayLike, tier: str) -> Floats:
        """Seconds to bring the KV of `tokens` tokens back from the tier; 0 for `resident` or an empty prefix."""
        tokens = np.asarray(tokens, dtype=np.float64)
        if tier == RESIDENT:
            return np.zeros_like(tokens)
        kept = self.tier(tier)
        seconds = kept.restore.seconds(self.kv_bytes(tokens) * kept.stored_bytes_ratio)
        return np.where(tokens > 0, seconds, 0.0)

    def store_seconds(self, tokens: ArrayLike, tier: str) -> Floats | None:
        """Seconds to write the KV of `tokens` tokens to the tier; None when the probe did not measure it."""
        tokens = np.asarray(tokens, dtype=np.float64)
        if tier == RESIDENT:
            return np.zeros_like(tokens)
        kept = self.tier(tier)
        if kept.store is None:
            return None
        return np.where(tokens > 0, kept.store.seconds(self.kv_bytes(tokens) * kept.stored_bytes_ratio), 0.0)

    def ttft_seconds(
        self, new: ArrayLike, cached: ArrayLike = 0, tier: str = RESIDENT, *, overlap: bool = False
    ) -> Floats:
        """Seconds to the first token when `cached` tokens come from the tier and `new` ones are computed.

        Without overlap the two times add. With overlap the layers form a pipeline of L stages, so only the
        first layer's restore or the last layer's compute is exposed: max(R + T/L, T + R/L).
        Excludes queueing, scheduling, tokenization and network.
        """
        prefill = self.prefill_seconds(new, cached)
        restore = self.restore_seconds(cached, tier)
        if not overlap:
            return prefill + restore
        layers = self.model.geometry.layers
        pipelined = np.maximum(restore + prefill / layers, prefill + restore / layers)
        return np.where(restore > 0, pipelined, prefill)

    def ttft_saved_seconds(
        self, new: ArrayLike, cached: ArrayLike, tier: str = RESIDENT, *, overlap: bool = False
    ) -> Floats:
        """Seconds a hit of `cached` tokens saves; negative where computing would have been faster."""
        total = np.asarray(new, dtype=np.float64) + np.asarray(cached, dtype=np.float64)
        return self.prefill_seconds(total) - self.ttft_seconds(new, cached, tier, overlap=overlap)

    def break_even(
        self, tier: str, *, new: int = 64, overlap: bool = False, limit: int = 1 << 20
    ) -> BreakEven:
        """The shortest prefix from which, up to `limit`, restoring always beats computing `new` tokens more.

        Found on a grid of lengths and refined by bisection, because floors and knots allow no closed form.
        """
        grid = np.unique(np.geomspace(1, limit, 2048).astype(np.int64))
        wins = self.ttft_saved_seconds(new, grid, tier, overlap=overlap) > 0
        losing = np.flatnonzero(~wins)
        if losing.size and losing[-1] == grid.size - 1:
            return BreakEven(tier, None, limit, "projected")
        if not losing.size:
            return BreakEven(tier, 1, limit, self.provenance(new, 1, tier))
        low, high = int(grid[losing[-1]]), int(grid[losing[-1] + 1])
        while high - low > 1:
            middle = (low + high) // 2
            if self.ttft_saved_seconds(new, middle, tier, overlap=overlap) > 0:
                high = middle
            else:
                low = middle
        return BreakEven(tier, high, limit, self.provenance(new, high, tier))

    def recompute_split(self, cached: int, tier: str) -> int:
        """How many leading tokens to compute while the rest is restored, so that both end together.

        Cake's rule (Jin et al., ICML 2025): compute from the front, load from the back, meet in the middle.
        """
        low, high = 0, cached
        while low < high:
            middle = (low + high) // 2
            if self.prefill_seconds(middle) < self.restore_seconds(cached - middle, tier):
                low = middle + 1
            else:
                high = middle
        return low

    def longest_measured_prefix(self, new: int) -> int:
        """The longest prefix for which `new` more tokens still lie within the measured lengths; at least 1."""
        return max(1, min(self.prefill.longest_cached, self.prefill.longest_total - new))

    def tokens_per_second(self, new: int, cached: int = 0) -> float:
        """Prefill rate: new tokens ÷ prefill seconds."""
        return new / float(self.prefill_seconds(new, cached))

    def hold_rule(
        self, tokens: int, tier: str, *, device_usd_per_hour: float, usd_per_gb_hour: float, new: int = 64
    ) -> HoldRule:
        """How long to hold a prefix of `tokens` tokens in the tier, given the price of the device's time
        (US$/hour, the device used fully) and of the tier's room (US$ per 10⁹ bytes and hour)."""
        kept = 1.0 if tier == RESIDENT else self.tier(tier).stored_bytes_ratio
        saved = float(self.ttft_saved_seconds(new, tokens, tier))
        saved_usd = saved * device_usd_per_hour / 3600
        hold = float(self.kv_bytes(tokens)) * kept / 1e9 * usd_per_gb_hour / 3600
        gap = 0.0 if saved_usd <= 0 else saved_usd / hold if hold else None
        return HoldRule(tier, tokens, saved, saved_usd, hold, gap)

    def provenance(self, new: ArrayLike, cached: ArrayLike = 0, tier: str = RESIDENT) -> Provenance:
        """`measured` when every (new, cached) lies within the lengths that were measured, else `projected`."""
        new, cached = np.broadcast_arrays(np.asarray(new), np.asarray(cached))
        inside = (
            not self.prefill.projected
            and bool(np.all(new + cached <= self.prefill.longest_total))
            and bool(np.all(cached <= self.prefill.longest_cached))
        )
        if inside and tier != RESIDENT:
            kept = self.tier(tier)
            sizes = self.kv_bytes(cached[cached > 0]) * kept.stored_bytes_ratio
            # The smallest file or message has a header besides the KV.
            low, high = 0.5 * kept.restore.smallest_bytes, 1.001 * kept.restore.largest_bytes
            inside = bool(np.all((low <= sizes) & (sizes <= high)))
        return "measured" if inside else "projected"

    def for_causal_kernel(self) -> "Calibration":
        """The same machine with a kernel that computes only the causal pairs, as paged engines have:
        the cost of a pair is kept from the fastest path measured, and all answers become `projected`."""
        pair_costs = [term.seconds for term in self.prefill.terms if term.feature.startswith("pairs")]
        others = [term for term in self.prefill.terms if not term.feature.startswith("pairs")]
        cheapest = [Term("pairs", min(pair_costs))] if pair_costs else []
        return replace(
            self,
            prefill=replace(self.prefill, kernel="causal", terms=[*others, *cheapest], projected=True),
        )


def features(geometry: Geometry, kernel: Kernel, new: ArrayLike, cached: ArrayLike) -> dict[str, Floats]:
    """What prefill time is a sum of, per (new, cached); arguments broadcast, columns share their shape.

    fixed: 1 · new: n · cached: h · warm: 1 when h > 0 · pairs: query-key pairs a layer on average computes,
    split into pairs_causal (kernels that skip the masked half) and pairs_masked (kernels that do not).

    Which kernel computes what (read in transformers 5.17 and 5.24 `masking_utils` and `sdpa_attention`):
    `sdpa` skips the upper triangle only when nothing is cached; with a prefix it multiplies the whole
    rectangle n·(n+h) and masks it. Window layers keep min(h, w−1) cached tokens and save nothing inside
    the new ones. `eager` always computes the rectangle; `causal` computes exactly the visible pairs.
    """
    new, cached = np.broadcast_arrays(np.asarray(new, dtype=np.float64), np.asarray(cached, dtype=np.float64))
    cold = cached == 0
    visible = new * cached + new * (new + 1) / 2
    full_skips = cold if kernel == "sdpa" else np.full(new.shape, kernel == "causal")
    causal = geometry.full_layers * np.where(full_skips, visible, 0.0)
    masked = geometry.full_layers * np.where(full_skips, 0.0, new * (new + cached))
    if geometry.window_layers and geometry.window is not None:
        window = geometry.window
        window_skips = cold & (new < window) if kernel == "sdpa" else full_skips
        visible_in_window = _window_pairs(new + cached, window) - _window_pairs(cached, window)
        rectangle = new * (new + np.minimum(cached, window - 1))
        causal = causal + geometry.window_layers * np.where(window_skips, visible_in_window, 0.0)
        masked = masked + geometry.window_layers * np.where(window_skips, 0.0, rectangle)
    attending = max(geometry.full_layers + geometry.window_layers, 1)
    return {
        "fixed": np.ones(new.shape),
        "new": new,
        "cached": cached,
        "warm": np.where(cold, 0.0, 1.0),
        "pairs": (causal + masked) / attending,
        "pairs_causal": causal / attending,
        "pairs_masked": masked / attending,
    }


def _window_pairs(length: Floats, window: int) -> Floats:
    """Σ over positions 1..length of min(position, window)."""
    inside: Floats = np.minimum(length, window)
    beyond: Floats = np.maximum(length - window, 0) * window
    return inside * (inside + 1) / 2 + beyond


def summarise_ttft(
    calibration: Calibration,
    prompt_tokens: Sequence[int] | NDArray[np.int64],
    hit_tokens: Sequence[int] | NDArray[np.int64],
    tier: str = RESIDENT,
    *,
    overlap: bool = False,
) -> TtftSummary:
    """TTFT with and without the cache over requests; each request computes at least its last token.

    A hit that would be slower than computing is still taken, as engines do: the cost is then visible.
    Raises UsageError when there are no requests.
    """
    prompt = np.asarray(prompt_tokens, dtype=np.int64)
    if prompt.size == 0:
        raise UsageError("no requests to compute a time to first token for")
    hit = np.minimum(np.asarray(hit_tokens, dtype=np.int64), prompt - 1)
    without = calibration.prefill_seconds(prompt)
    with_cache = calibration.ttft_seconds(prompt - hit, hit, tier, overlap=overlap)
    p50_without, p95_without = np.quantile(without, [0.5, 0.95])
    p50_with, p95_with = np.quantile(with_cache, [0.5, 0.95])
    cold = calibration.provenance(prompt)
    warm = calibration.provenance(prompt - hit, hit, tier)
    return TtftSummary(
        tier=tier,
        requests=int(prompt.size),
        p50_without_s=float(p50_without),
        p95_without_s=float(p95_without),
        p50_with_s=float(p50_with),
        p95_with_s=float(p95_with),
        mean_saved_s=float(np.mean(without - with_cache)),
        provenance="measured" if cold == warm == "measured" and not overlap else "projected",
        model=calibration.model.name,
        machine=calibration.machine.device_name,
    )


def load_calibration(path: Path) -> Calibration:
    """The calibration in a `calibration.json`. Raises InputError naming the field that is wrong."""
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: cannot read the calibration ({problem.strerror})") from problem
    try:
        head = msgspec.json.decode(text, type=_Head)
    except msgspec.DecodeError as problem:
        raise InputError(f"{path}: no calibration written by pcache probe ({problem})") from problem
    if head.format != "pcache-calibration":
        raise InputError(f"{path}: format is '{head.format}', not a calibration written by pcache probe")
    if head.schema_version != SCHEMA_VERSION:
        raise InputError(
            f"{path}: schema_version {head.schema_version} is not {SCHEMA_VERSION}; run pcache probe again"
        )
    try:
        return msgspec.json.decode(text, type=Calibration)
    except msgspec.DecodeError as problem:
        raise InputError(f"{path}: damaged calibration ({problem})") from problem


def dump_calibration(calibration: Calibration) -> bytes:
    """The calibration as an indented JSON document, UTF-8, ending in a line feed."""
    return msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n"


class _Head(msgspec.Struct):
    format: str
    schema_version: int
