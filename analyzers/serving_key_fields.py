"""What a serving manifest may name, and whether it must take part in the key of a cached prefix.

Three reasons make a field take part: the KV values would differ (content), one party would read what another may not
see (permission), or what is served would be out of date (freshness). What only steers how tokens are drawn from
the model's answer leaves the KV of the prompt as it is.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a field takes part in a key, or that it need not."""

    CONTENT = "content"
    PERMISSION = "permission"
    FRESHNESS = "freshness"
    NONE = "need not"


@dataclass(frozen=True, slots=True)
class KeyField:
    """A field by its name and other names that manifests use. `required`: without it the key says too little;
    null or "none" states that there is none."""

    name: str
    why: str
    reason: Reason
    required: bool = False
    aliases: tuple[str, ...] = ()


_DRAWING = "it steers how tokens are drawn from the model's answer; the KV of a prompt does not depend on it"

FIELDS = (
    KeyField(
        "tenant",
        "a hit, or its speed, tells one tenant what another sent",
        Reason.PERMISSION,
        required=True,
        aliases=("tenant_id", "organization", "org", "customer", "account", "workspace"),
    ),
    KeyField(
        "authorization_scope",
        "a prefix may hold what only this scope may see",
        Reason.PERMISSION,
        required=True,
        aliases=("authorisation_scope", "auth_scope", "scope", "scopes", "permissions", "acl", "roles"),
    ),
    KeyField(
        "user",
        "where named, the prefix is one user's own",
        Reason.PERMISSION,
        aliases=("user_id", "subject"),
    ),
    KeyField(
        "cache_salt",
        "where set, it keeps apart whoever does not know it",
        Reason.PERMISSION,
        aliases=("salt", "isolation_key"),
    ),
    KeyField(
        "weights",
        "other weights give other keys and values; a quantised model is another model",
        Reason.CONTENT,
        required=True,
        aliases=("weights_digest", "model_digest", "model_weights", "checkpoint", "model_sha256", "revision"),
    ),
    KeyField(
        "tokenizer",
        "the same text becomes other tokens",
        Reason.CONTENT,
        required=True,
        aliases=("tokenizer_digest", "vocabulary"),
    ),
    KeyField(
        "chat_template",
        "the same messages become another prompt",
        Reason.CONTENT,
        required=True,
        aliases=("chat_template_digest", "template", "prompt_format"),
    ),
    KeyField(
        "adapter",
        "a LoRA changes keys and values from the first layer it touches on",
        Reason.CONTENT,
        required=True,
        aliases=("adapter_digest", "lora", "adapters", "lora_digest"),
    ),
    KeyField(
        "rope",
        "keys are stored rotated: another base, scaling or length factor makes them wrong",
        Reason.CONTENT,
        required=True,
        aliases=("rope_config", "rope_configuration", "rope_scaling", "rope_parameters", "position_encoding"),
    ),
    KeyField(
        "kv_format",
        "stored blocks can be read only in the type, layout and block size they were written in",
        Reason.CONTENT,
        required=True,
        aliases=("kv_cache_format", "kv_dtype", "kv_cache_dtype", "kv_layout"),
    ),
    KeyField(
        "parallelism",
        "each worker holds its own slice of the heads: blocks fit only the same split",
        Reason.CONTENT,
        aliases=("tensor_parallel", "tensor_parallel_size", "tp", "pipeline_parallel_size"),
    ),
    KeyField(
        "attention",
        "a sliding window or another sparse pattern keeps other tokens",
        Reason.CONTENT,
        aliases=("attention_window", "sliding_window", "attention_pattern"),
    ),
    KeyField(
        "media_processor",
        "the same image becomes other embeddings",
        Reason.CONTENT,
        aliases=("image_processor", "processor", "vision_processor", "mm_processor"),
    ),
    KeyField(
        "documents",
        "a prefix with an old document answers from what is out of date or was withdrawn",
        Reason.FRESHNESS,
        required=True,
        aliases=(
            "document_versions",
            "documents_version",
            "corpus_version",
            "corpus",
            "index_version",
            "knowledge",
        ),
    ),
    KeyField(
        "policy",
        "a prefix under an old policy lets through what the new one forbids",
        Reason.FRESHNESS,
        required=True,
        aliases=("policy_version", "policy_versions", "policies", "system_prompt_version", "guardrails"),
    ),
    *(
        KeyField(name, _DRAWING, Reason.NONE)
        for name in (
            "sampling",
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "typical_p",
            "seed",
            "max_tokens",
            "max_new_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "min_tokens",
            "stop",
            "stop_sequences",
            "n",
            "best_of",
            "num_beams",
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "logit_bias",
            "logprobs",
            "top_logprobs",
            "guided_decoding",
            "ignore_eos",
        )
    ),
    *(
        KeyField(name, why, Reason.NONE)
        for name, why in (
            ("stream", "it says how the answer is sent"),
            ("request_id", "a key with it would never be met again"),
            ("trace_id", "a key with it would never be met again"),
            ("timestamp", "a key with it would never be met again"),
            ("session", "the history is in the prompt: what two sessions share they may share"),
            ("priority", "it says when a request is served"),
            ("timeout", "it says when a request is given up"),
            ("replica", "it says where the blocks lie, not what they hold"),
            ("served_model_name", "a name: the digest of the weights counts"),
            ("model", "a name: the digest of the weights counts"),
            ("name", "a name of the manifest"),
            ("version", "the manifest's own version"),
        )
    ),
)

GROUPS = ("model", "version", "name")
"""Names that say nothing by themselves: where they hold a mapping, its members count."""

_BY_NAME = {name: field for field in FIELDS for name in (field.name, *field.aliases)}


def field_called(path: str) -> KeyField | None:
    """The field that a dotted path in a manifest means, by the whole path or its last name: `model.weights` is the
    weights; None where no field is known."""
    words = path.lower().replace("-", "_").replace(" ", "_").split(".")
    for name in ("_".join(words), words[-1]):
        if name in _BY_NAME:
            return _BY_NAME[name]
    return None
