"""Attention over a prefix that computes the visible pairs only, as paged engines do.

transformers' own `sdpa` keeps the fast kernel only while nothing is cached: with a prefix it writes out
a mask of new × total entries, repeats the key and value heads and multiplies the whole rectangle. Here the
mask is torch's lower-right causal bias, which the flash kernel understands. Not for sliding windows.
"""

from typing import Any

import torch
from torch.nn.attention.bias import causal_lower_right

from analyzers.errors import CannotEvaluateError

NAME = "pcache_causal"
_FLASH_DTYPES = (torch.float16, torch.bfloat16)
_FLASH_HEAD_WIDTH = 256


def register_causal_attention() -> None:
    """Make `attn_implementation="pcache_causal"` known to transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, _no_mask)


def _no_mask(*args: Any, **kwargs: Any) -> None:
    return None


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """query [batch, heads, new, width], key and value [batch, KV heads, total, width] → [batch, new, …]."""
    if sliding_window is not None:
        raise CannotEvaluateError("causal attention has no sliding window; use --attention sdpa")
    groups = query.shape[1] // key.shape[1]
    flash = query.is_cuda and query.dtype in _FLASH_DTYPES and query.shape[-1] <= _FLASH_HEAD_WIDTH
    flash = flash and key.shape[-1] == value.shape[-1]
    if groups > 1 and not flash:
        key = key.repeat_interleave(groups, dim=1)
        value = value.repeat_interleave(groups, dim=1)
    attended = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=causal_lower_right(query.shape[2], key.shape[2]),
        scale=scaling,
        enable_gqa=groups > 1 and flash,
    )
    return attended.transpose(1, 2).contiguous(), None
