"""Is restored KV the real thing? Exact against the live cache, and within rounding of a full prefill.

Two different questions. A cache written out and read back must continue bit for bit as the live one does;
any difference is a fault of the store. A full prefill takes other paths through the kernels (another
number of rows, another mask), so there only rounding may differ, within the tolerances below. A fault is
planted in every run: a check that passes it is worthless, and the run fails.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gpu_probe.forward import empty_cache, greedy_tokens, prefill, random_ids
from gpu_probe.kv_image import KvImage, TensorSpec, capture, rebuild
from gpu_probe.models import WEIGHT_SPREAD, LoadedModel, build_from_config, describe
from simulators.calibration import Check

_GREEDY_TOKENS = 32
_EXAM_TOKENS = 160
_EXAM_TEXT = """You are the assistant of a public library. Answer in complete sentences, name the shelf when you \
know it, and say so when you do not. Opening hours are nine to eighteen on weekdays and ten to fourteen on \
Saturdays. A book may be kept for four weeks and renewed twice unless somebody waits for it. Fees are charged from \
the third day after the return date. Children under twelve need the signature of an adult. Music, films and maps \
are on the second floor, newspapers beside the entrance, and the reading room for old prints opens on request.

Reader: I am looking for a history of lighthouses, not too technical, for a girl of ten who builds models. She has \
read everything on the shelf about ships. Is there something with drawings, and how long could we keep it?
Assistant:"""


@dataclass(frozen=True)
class Tolerance:
    """Largest and root-mean-square |Δlogit| over all suffix positions, in units of std(logits)."""

    largest: float
    rms: float


@dataclass(frozen=True)
class Difference:
    """How two sets of logits differ. `flips` counts positions with another most likely token: for information,
    since differences within the tolerance can only flip a lead of at most twice the tolerance."""

    largest: float
    rms: float
    flips: int


@dataclass(frozen=True)
class Exam:
    """A prompt cut into a kept prefix and a suffix, and the state after the prefix."""

    ids: torch.Tensor
    cached: int
    image: KvImage
    live: torch.Tensor
    full: torch.Tensor


def tolerance(loaded: LoadedModel) -> Tolerance:
    """What rounding may do. Measured with the weights of the catalogue (November 2026, on the host): attention in
    fp32 stays below 1e-5; in bf16 it grows with depth, to 0.09 of std after 16 layers and 0.18 after 32 (root mean
    square 0.02 and 0.04). Recurrent layers, whose chunks are cut elsewhere, reach 4e-4 in fp32 and, in bf16, 1.0 at
    single positions that a small norm blows up; so may an expert chosen by a hair. Planted faults in fp32 lie above
    1e-2.
    """
    recurrent = loaded.card.geometry.recurrent_layers > 0
    if loaded.dtype == torch.float32:
        return Tolerance(2e-3, 1e-4) if recurrent else Tolerance(1e-4, 3e-5)
    depth = max(1.0, loaded.card.geometry.layers / 16)
    if recurrent or _experts(loaded.config) > 1:
        return Tolerance(2.0, 0.1 * depth)
    return Tolerance(0.2 * depth, 0.04 * depth)


def _experts(config: Any) -> int:
    names = ("num_experts", "n_routed_experts", "num_local_experts")
    return max(int(getattr(config, name, None) or 0) for name in names)


def difference(reference: torch.Tensor, logits: torch.Tensor) -> Difference:
    """Logits [positions, vocabulary] against reference logits of the same shape."""
    reference, logits = reference.float(), logits.float()
    gap = (logits - reference).abs()
    spread = float(reference.std())
    return Difference(
        largest=float(gap.max()) / spread,
        rms=float(gap.square().mean().sqrt()) / spread,
        flips=int((logits.argmax(-1) != reference.argmax(-1)).sum()),
    )


def exam_ids(loaded: LoadedModel, seed: int) -> torch.Tensor:
    """The prompt of the exam, [1, 160]: English for a real model with a tokenizer, else random ids."""
    if loaded.card.weights == "real" and loaded.tokenizer is not None:
        encoded = loaded.tokenizer(_EXAM_TEXT, return_tensors="pt").input_ids[:, :_EXAM_TOKENS]
        if encoded.shape[1] == _EXAM_TOKENS:
            return encoded.to(loaded.device)
    return random_ids(loaded, _EXAM_TOKENS, torch.Generator().manual_seed(seed))


def examine(loaded: LoadedModel, ids: torch.Tensor) -> Exam:
    """Run the prompt [1, tokens] whole and in two steps, keeping the state after five eighths of it."""
    cached = ids.shape[1] * 5 // 8
    suffix = ids.shape[1] - cached
    cache = empty_cache(loaded)
    prefill(loaded, ids[:, :cached], cache, cached=0)
    image = capture(cache)
    live = prefill(loaded, ids[:, cached:], cache, cached=cached, logits=suffix)
    full = prefill(loaded, ids, empty_cache(loaded), cached=0, logits=suffix)
    return Exam(ids, cached, image, live, full)


def continued(loaded: LoadedModel, exam: Exam, image: KvImage) -> torch.Tensor:
    """Logits of every suffix position, computed behind the image."""
    suffix = exam.ids.shape[1] - exam.cached
    cache = rebuild(image, loaded.config)
    return prefill(loaded, exam.ids[:, exam.cached :], cache, cached=exam.cached, logits=suffix)


def check_storage(loaded: LoadedModel, exam: Exam, restored: KvImage, label: str) -> Check:
    """Restored must continue exactly as the live cache did."""
    logits = continued(loaded, exam, restored)
    same = torch.equal(logits, exam.live)
    largest = float((logits.float() - exam.live.float()).abs().max())
    return Check(f"{label}: restored equals live", same, largest, 0.0)


def check_against_prefill(loaded: LoadedModel, exam: Exam, restored: KvImage, label: str) -> Check:
    """Restored must agree with a full prefill within the tolerance, at every suffix position."""
    found = difference(exam.full, continued(loaded, exam, restored))
    allowed = tolerance(loaded)
    passed = found.largest <= allowed.largest and found.rms <= allowed.rms
    detail = f"rms {found.rms:.1e}, {found.flips} of {len(exam.full)} most likely tokens differ"
    return Check(f"{label}: restored against full prefill", passed, found.largest, allowed.largest, detail)


def check_planted(loaded: LoadedModel, exam: Exam, label: str, seed: int) -> Check:
    """Damage the state by one of the applicable faults, chosen by the seed: the comparison with a full
    prefill must notice. Passes when the fault is beyond the tolerance and beyond twice the honest error."""
    applicable = [name for name in sorted(FAULTS) if FAULTS[name](exam.image) is not None]
    fault = applicable[seed % len(applicable)]
    damaged = FAULTS[fault](exam.image)
    assert damaged is not None
    honest = check_against_prefill(loaded, exam, exam.image, label)
    seen = check_against_prefill(loaded, exam, damaged, label)
    caught = not seen.passed and (seen.error or 0.0) > 2 * (honest.error or 0.0)
    return Check(
        f"{label}: planted fault '{fault}' is caught", caught, seen.error, seen.tolerance, planted=True
    )


def check_greedy(loaded: LoadedModel, exam: Exam) -> Check:
    """Greedy text after the restored prefix against greedy text after a full prefill. The first different token
    is excused when the most likely one led by less than rounding may move two logits (twice the tolerance)."""
    total = exam.ids.shape[1]
    cache = empty_cache(loaded)
    logits = prefill(loaded, exam.ids, cache, cached=0)[-1]
    expected = greedy_tokens(loaded, logits, cache, cached=total, count=_GREEDY_TOKENS)
    cache = rebuild(exam.image, loaded.config)
    logits = prefill(loaded, exam.ids[:, exam.cached :], cache, cached=exam.cached)[-1]
    found = greedy_tokens(loaded, logits, cache, cached=total, count=_GREEDY_TOKENS)
    pairs = zip(expected, found, strict=True)
    alike = next((n for n, (one, other) in enumerate(pairs) if one.token != other.token), _GREEDY_TOKENS)
    lead = None if alike == _GREEDY_TOKENS else expected[alike].lead
    detail = f"{alike} of {_GREEDY_TOKENS} tokens alike"
    if lead is not None:
        detail += f", then one that led by {lead:.2g} of the spread"
    return Check(
        "greedy text with restored KV equals full prefill",
        lead is None or lead <= 2 * tolerance(loaded).largest,
        None,
        None,
        detail,
    )


def verify(
    loaded: LoadedModel, restore: Callable[[KvImage], KvImage], ids: torch.Tensor, seed: int
) -> list[Check]:
    """All checks of one run: on the model itself and, in fp32 where tolerances are tight, on a copy cut to a
    few layers of full width. `restore` takes a state through a store and back; `ids` [1, tokens]."""
    checks = _checks(loaded, restore, ids, seed, f"{loaded.card.dtype}, all layers")
    copied = truncated(loaded, seed)
    if copied is not None:
        layers = copied.card.geometry.layers
        label = f"float32, {layers} layers, random weights"
        checks += _checks(copied, restore, exam_ids(copied, seed), seed, label)
    return checks


def _checks(
    loaded: LoadedModel, restore: Callable[[KvImage], KvImage], ids: torch.Tensor, seed: int, label: str
) -> list[Check]:
    exam = examine(loaded, ids)
    restored = restore(exam.image)
    checks = [
        check_storage(loaded, exam, restored, label),
        check_against_prefill(loaded, exam, restored, label),
    ]
    if loaded.dtype == torch.float32:
        checks.append(check_planted(loaded, exam, label, seed))
    if loaded.card.weights == "real":
        checks.append(check_greedy(loaded, exam))
    return checks


def truncated(loaded: LoadedModel, seed: int) -> LoadedModel | None:
    """A random copy in fp32 at full width with the fewest layers that show every kind of layer, at least two;
    None when the model itself is already that."""
    from transformers import DynamicCache

    kinds = [type(layer).__name__ for layer in DynamicCache(config=loaded.config).layers]
    layers = max(2, *(kinds.index(kind) + 1 for kind in set(kinds)))
    if loaded.dtype == torch.float32 and layers >= len(kinds):
        return None
    settings = copy.deepcopy(loaded.config.to_dict())
    settings["num_hidden_layers"] = min(layers, len(kinds))
    for per_layer in ("layer_types", "layers_block_type", "mlp_layer_types"):
        if isinstance(settings.get(per_layer), list):
            settings[per_layer] = settings[per_layer][:layers]
    config = type(loaded.config).from_dict(settings)
    config.initializer_range = WEIGHT_SPREAD / config.hidden_size**0.5
    model = build_from_config(config, loaded.device, torch.float32, loaded.card.attention, seed)
    return describe(model, loaded.card.name, "random", None, loaded.device, loaded.card.attention)


def logit_error(loaded: LoadedModel, exam: Exam, decoded: KvImage) -> float:
    """Largest |Δlogit| in units of std(logits) that a lossy copy of the exam's state causes."""
    return difference(exam.live, continued(loaded, exam, decoded)).largest


def _token_zeroed(image: KvImage) -> KvImage | None:
    damaged = image.clone()
    for spec in reversed(image.layout.tensors):
        if spec.attribute in ("keys", "values") and spec.shape[-2] > 2:
            damaged.tensors()[spec.key][..., spec.shape[-2] // 2, :] = 0
            return damaged
    return None


def _heads_swapped(image: KvImage) -> KvImage | None:
    damaged = image.clone()
    for spec in image.layout.tensors:
        if spec.attribute in ("keys", "values") and spec.shape[1] > 1:
            tensor = damaged.tensors()[spec.key]
            tensor.copy_(tensor.flip(1).clone())
            return damaged
    return None


def _layers_swapped(image: KvImage) -> KvImage | None:
    seen: dict[tuple[str, tuple[int, ...]], TensorSpec] = {}
    damaged = image.clone()
    for spec in image.layout.tensors:
        if spec.attribute not in ("keys", "values", "recurrent_states"):
            continue
        first = seen.setdefault((spec.attribute, spec.shape), spec)
        if first.layer != spec.layer:
            one, other = damaged.tensors()[first.key], damaged.tensors()[spec.key]
            held = one.clone()
            one.copy_(other)
            other.copy_(held)
            return damaged
    return None


def _state_zeroed(image: KvImage) -> KvImage | None:
    damaged = image.clone()
    for spec in image.layout.tensors:
        if spec.attribute == "recurrent_states":
            damaged.tensors()[spec.key].zero_()
            return damaged
    return None


FAULTS: dict[str, Callable[[KvImage], KvImage | None]] = {
    "one token's entry zeroed": _token_zeroed,
    "key-value heads swapped": _heads_swapped,
    "two layers swapped": _layers_swapped,
    "a recurrent state zeroed": _state_zeroed,
}


def failed(checks: Sequence[Check]) -> list[Check]:
    """The checks that failed."""
    return [check for check in checks if not check.passed]
