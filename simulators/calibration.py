"""The records a calibration consists of: what was measured on which machine with which model, and the fits.

All times are seconds, all lengths tokens, all sizes bytes. `simulators.latency` answers questions from them.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Kernel = Literal["sdpa", "eager", "causal"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Geometry:
    """What decides which query-key pairs attention computes and how many bytes a token keeps."""

    full_layers: int
    window_layers: int
    window: int | None
    recurrent_layers: int = 0

    @property
    def layers(self) -> int:
        return self.full_layers + self.window_layers + self.recurrent_layers


@dataclass(frozen=True)
class Term:
    """One addend of prefill time: seconds per unit of the feature of that name (see `features`)."""

    feature: str
    seconds: float


@dataclass(frozen=True)
class FitError:
    """Relative errors of a fit on cells it has not seen (hold-out) or has seen (training), as fractions."""

    median: float
    worst: float
    bias: float
    cells: int


@dataclass(frozen=True)
class PrefillFit:
    """T(new, cached) = max(floor, Σ seconds·feature), with the lengths and errors behind it."""

    kernel: Kernel
    floor_s: float
    terms: list[Term]
    training: FitError
    holdout: FitError
    longest_total: int
    longest_cached: int
    projected: bool = False


@dataclass(frozen=True)
class KvBytes:
    """Bytes of KV kept for a prefix of h tokens: full·h + window·min(h, w − 1) + fixed, from real tensors."""

    per_token_full: float
    per_token_window: float
    fixed: float
    window: int | None
    formula_per_token: float | None = None
    formula_agrees: bool | None = None


@dataclass(frozen=True)
class CopyLine:
    """Seconds to move b bytes: fixed + b·per_byte + max(b − knot, 0)·beyond_knot. The knot is where a
    cache level ends; None when one slope fits."""

    fixed_s: float
    per_byte_s: float
    knot_bytes: float | None
    beyond_knot_per_byte_s: float
    median_error: float
    smallest_bytes: int
    largest_bytes: int

    def seconds(self, size: ArrayLike) -> Floats:
        """Seconds to move `size` bytes (any shape), float64 of the same shape."""
        size = np.asarray(size, dtype=np.float64)
        beyond = 0.0 if self.knot_bytes is None else np.maximum(size - self.knot_bytes, 0.0)
        return self.fixed_s + size * self.per_byte_s + beyond * self.beyond_knot_per_byte_s


@dataclass(frozen=True)
class Tier:
    """One place and way to keep KV: `name` is the place, with `:variant` for another layout or encoding."""

    name: str
    restore: CopyLine
    store: CopyLine | None
    stored_bytes_ratio: float
    """Bytes kept ÷ bytes of the live cache: 1 for a plain copy, about 0.5 for fp8 of a bf16 cache."""
    logit_error: float | None = None
    """Largest |Δlogit| ÷ std(logits) caused by the encoding; 0.0 when the copy is exact, None if not checked."""


@dataclass(frozen=True)
class PrefillCell:
    """Measured prefill of `new` tokens after `cached` ones: every sample, in seconds."""

    new: int
    cached: int
    holdout: bool
    seconds: list[float]
    estimate_s: float
    cold_s: float | None = None
    wall_s: list[float] = field(default_factory=list)
    peak_bytes: int | None = None


@dataclass(frozen=True)
class CopyCell:
    """Measured movement of the KV of `tokens` tokens: every sample, in seconds."""

    tier: str
    direction: Literal["restore", "store"]
    tokens: int
    size: int
    seconds: list[float]
    estimate_s: float


@dataclass(frozen=True)
class OverlapCell:
    """Measured time to first token after a hit when layers are restored while the suffix is computed."""

    tier: str
    new: int
    cached: int
    overlapped_s: float
    sequential_s: float


@dataclass(frozen=True)
class Check:
    """One verification of restored KV; `planted` checks pass when the fault was caught."""

    name: str
    passed: bool
    error: float | None
    tolerance: float | None
    detail: str = ""
    planted: bool = False


@dataclass(frozen=True)
class Machine:
    """Where the numbers come from. `clock` says which time was taken; `noise` is wall ÷ CPU time."""

    name: str
    device: str
    device_name: str
    cores: int
    threads: int
    memory_bytes: int
    clock: str
    noise: float | None
    ceilings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelCard:
    """Which model ran: its shape, weights (`random` or `real`) and fingerprints."""

    name: str
    weights: Literal["random", "real"]
    dtype: str
    attention: str
    parameters: int
    config_sha256: str
    geometry: Geometry
