"""One forward pass over new tokens behind a cache, with the guards that silent mistakes need.

Measured on transformers 5.17 and 5.24: a cache passed by the wrong argument name is ignored without an
error, a mask that covers only the new tokens is silently wrong, and some hybrid models count positions
from 0 unless they are given. So positions are always explicit, no mask is passed, the cache goes in under
the name the model's own signature has (`cache` from 5.24 on, `past_key_values` before), and its length is
checked afterwards.
"""

from dataclasses import dataclass
from typing import Any

import torch

from analyzers.errors import CannotEvaluateError
from gpu_probe.models import LoadedModel


def empty_cache(loaded: LoadedModel) -> Any:
    """A cache of the model's own layer kinds (without the configuration, window layers keep everything)."""
    from transformers import DynamicCache

    return DynamicCache(config=loaded.config)


def random_ids(loaded: LoadedModel, count: int, generator: torch.Generator) -> torch.Tensor:
    """`count` token ids on the model's device, shape [1, count], int64."""
    ids = torch.randint(0, loaded.vocabulary, (1, count), generator=generator)
    return ids.to(loaded.device)


def prefill(
    loaded: LoadedModel, ids: torch.Tensor, cache: Any, *, cached: int, logits: int = 1, shift: int = 0
) -> torch.Tensor:
    """Compute the tokens `ids` [1, new] behind the `cached` tokens in the cache, which grows by them.

    Returns the logits of the last `logits` positions, shape [logits, vocabulary]. `shift` moves the
    positions, a fault that only verification plants.
    """
    new = ids.shape[1]
    positions = torch.arange(cached + shift, cached + shift + new, device=loaded.device)[None]
    with torch.inference_mode():
        out = loaded.model(
            input_ids=ids,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=logits,
            **{loaded.cache_argument: cache},
        )
    length = cached_length(cache)
    if length is not None and length != cached + new:
        raise CannotEvaluateError(
            f"{loaded.card.name}: the cache holds {length} tokens after {cached} + {new}; "
            "this model does not continue a given cache"
        )
    return out.logits[0]


def cached_length(cache: Any) -> int | None:
    """Tokens the cache says it holds; None when no layer counts tokens (a purely recurrent model)."""
    for layer in cache.layers:
        count = getattr(layer, "get_seq_length", None)
        if count is not None:
            return int(count())
    return None


@dataclass(frozen=True)
class Chosen:
    """A greedy token and how far it led the second, in units of std(logits)."""

    token: int
    lead: float


def greedy_tokens(
    loaded: LoadedModel, logits: torch.Tensor, cache: Any, *, cached: int, count: int
) -> list[Chosen]:
    """`count` tokens, each the most likely one, continuing after `logits` [vocabulary]; the cache grows."""
    chosen = [_most_likely(logits)]
    while len(chosen) < count:
        ids = torch.tensor([[chosen[-1].token]], device=loaded.device)
        logits = prefill(loaded, ids, cache, cached=cached)[-1]
        cached += 1
        chosen.append(_most_likely(logits))
    return chosen


def _most_likely(logits: torch.Tensor) -> Chosen:
    best = logits.float().topk(2)
    return Chosen(int(best.indices[0]), float((best.values[0] - best.values[1]) / logits.float().std()))
