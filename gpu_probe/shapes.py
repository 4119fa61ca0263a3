"""The catalogue of model shapes: built from their configuration with random weights, nothing downloaded.

Full-size shapes follow the `config.json` published with the model of that name on the Hugging Face hub,
as read in 2026. A `-mini` keeps every width of its model and has fewer layers and experts, so that it fits
one device: times a layer and bytes a layer are those of the full model. A `tiny-` shape is for trying out
and for tests: it has the mechanisms of its family and no meaningful size.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """`config_class` names a configuration class of transformers; `settings` are its arguments."""

    name: str
    config_class: str
    about: str
    settings: dict[str, object] = field(default_factory=dict)


_TINY: dict[str, object] = {
    "vocab_size": 1024,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "max_position_embeddings": 65536,
}

_SHAPES = [
    Shape(
        "llama-3-8b",
        "LlamaConfig",
        "Llama 3.1 8B: 32 layers, grouped-query attention, 128 KiB of bf16 KV a token",
        {
            "vocab_size": 128256,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "max_position_embeddings": 131072,
            "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
        },
    ),
    Shape(
        "qwen2.5-7b",
        "Qwen2Config",
        "Qwen2.5 7B: 28 layers, 4 KV heads, 56 KiB of bf16 KV a token",
        {
            "vocab_size": 152064,
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "num_hidden_layers": 28,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
            "max_position_embeddings": 32768,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
        },
    ),
    Shape(
        "qwen3-8b",
        "Qwen3Config",
        "Qwen3 8B: 36 layers, head width apart from hidden ÷ heads, 144 KiB of bf16 KV a token",
        {
            "vocab_size": 151936,
            "hidden_size": 4096,
            "intermediate_size": 12288,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 40960,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
        },
    ),
    Shape(
        "gemma-3-4b",
        "Gemma3TextConfig",
        "Gemma 3 4B (text): 34 layers, five sliding windows of 1024 to one full layer",
        {
            "vocab_size": 262208,
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "sliding_window": 1024,
            "max_position_embeddings": 131072,
        },
    ),
    Shape(
        "deepseek-v3-mini",
        "DeepseekV3Config",
        "DeepSeek V3 at full width with 4 layers and 16 experts: multi-head latent attention",
        {
            "vocab_size": 129280,
            "hidden_size": 7168,
            "intermediate_size": 18432,
            "moe_intermediate_size": 2048,
            "num_hidden_layers": 4,
            "first_k_dense_replace": 1,
            "num_attention_heads": 128,
            "num_key_value_heads": 128,
            "n_routed_experts": 16,
            "n_group": 4,
            "topk_group": 2,
            "num_experts_per_tok": 8,
            "max_position_embeddings": 65536,
        },
    ),
    Shape(
        "qwen3-next-mini",
        "Qwen3NextConfig",
        "Qwen3-Next at full width with 8 layers and 32 experts: three gated-delta layers to one full layer",
        {"num_hidden_layers": 8, "num_experts": 32, "max_position_embeddings": 65536},
    ),
    Shape("tiny-llama", "LlamaConfig", "4 layers, grouped-query attention", _TINY),
    Shape("tiny-qwen3", "Qwen3Config", "4 layers, head width 64", _TINY | {"head_dim": 64}),
    Shape("tiny-mistral", "MistralConfig", "every layer with a window of 64", _TINY | {"sliding_window": 64}),
    Shape(
        "tiny-gemma3",
        "Gemma3TextConfig",
        "two windows of 64 to one full layer",
        _TINY
        | {
            "num_hidden_layers": 6,
            "head_dim": 32,
            "query_pre_attn_scalar": 32,
            "sliding_window": 64,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
        },
    ),
    Shape(
        "tiny-deepseek",
        "DeepseekV3Config",
        "multi-head latent attention and a mixture of experts",
        _TINY
        | {
            "num_key_value_heads": 8,
            "moe_intermediate_size": 64,
            "first_k_dense_replace": 1,
            "n_routed_experts": 8,
            "n_group": 2,
            "topk_group": 1,
            "num_experts_per_tok": 2,
            "q_lora_rank": 64,
            "kv_lora_rank": 64,
            "qk_rope_head_dim": 16,
            "qk_nope_head_dim": 32,
            "v_head_dim": 32,
        },
    ),
    Shape(
        "tiny-qwen3-next",
        "Qwen3NextConfig",
        "hybrid: gated-delta layers and one full layer in four",
        _TINY
        | {
            "head_dim": 32,
            "linear_key_head_dim": 16,
            "linear_value_head_dim": 16,
            "linear_num_key_heads": 4,
            "linear_num_value_heads": 8,
            "moe_intermediate_size": 64,
            "shared_expert_intermediate_size": 64,
            "num_experts": 8,
            "num_experts_per_tok": 2,
        },
    ),
    Shape(
        "tiny-granite-hybrid",
        "GraniteMoeHybridConfig",
        "hybrid: Mamba-2 layers and attention layers in turn",
        _TINY
        | {
            "shared_intermediate_size": 256,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "layer_types": ["mamba", "attention"] * 2,
            "mamba_n_heads": 16,
            "mamba_d_state": 16,
            "mamba_chunk_size": 32,
        },
    ),
    Shape(
        "tiny-jamba",
        "JambaConfig",
        "hybrid: Mamba layers that transformers does not continue exactly (a known wrong one)",
        _TINY
        | {
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "mamba_d_state": 16,
            "use_mamba_kernels": False,
        },
    ),
]

SHAPES = {shape.name: shape for shape in _SHAPES}
