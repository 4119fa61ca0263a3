"""Which dialect a body is in, and whose API it went to."""

import re
from typing import Final
from urllib.parse import unquote

from msgspec import UNSET

from analyzers.logs.body import Body
from analyzers.request import Dialect

_CALL_PATHS: Final = (
    ("/chat/completions", Dialect.OPENAI_CHAT),
    ("/v2/chat", Dialect.OPENAI_CHAT),  # Cohere, as the next
    ("/v1/chat", Dialect.OPENAI_CHAT),
    ("/responses", Dialect.OPENAI_RESPONSES),
    ("/messages", Dialect.ANTHROPIC),
    (":rawPredict", Dialect.ANTHROPIC),
    (":streamRawPredict", Dialect.ANTHROPIC),
    (":generateContent", Dialect.GEMINI),
    (":streamGenerateContent", Dialect.GEMINI),
    ("/converse", Dialect.BEDROCK),
    ("/converse-stream", Dialect.BEDROCK),
    ("/invoke", None),
    ("/invoke-with-response-stream", None),
    ("/completions", Dialect.TEXT),
)
_HOSTS: Final = (
    ("azure", "azure"),
    ("openai.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("generativelanguage", "gemini"),
    ("aiplatform", "vertex"),
    ("bedrock", "bedrock"),
    ("openrouter", "openrouter"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral"),
    ("groq.com", "groq"),
    ("x.ai", "xai"),
    ("together", "together"),
    ("fireworks", "fireworks"),
    ("dashscope", "qwen"),
    ("moonshot", "kimi"),
    ("minimax", "minimax"),
    ("cerebras", "cerebras"),
    ("cohere", "cohere"),
)
_OF_DIALECT: Final = {
    Dialect.OPENAI_RESPONSES: "openai",
    Dialect.ANTHROPIC: "anthropic",
    Dialect.GEMINI: "gemini",
    Dialect.BEDROCK: "bedrock",
}
_OPENAI_MODEL: Final = re.compile(r"(gpt-|o[1-9](-|$)|chatgpt-|codex-)")
_CONVERSE_BLOCK: Final = re.compile(rb'\{\s*"(text|cachePoint|toolUse|toolResult|image|document)"\s*:')


def dialect_of_url(url: str) -> Dialect | None:
    """The dialect an endpoint speaks; None for InvokeModel, whose bodies differ by model.

    Raises KeyError for an endpoint that is no model call.
    """
    path = url.split("?", 1)[0].rstrip("/")
    for ending, dialect in _CALL_PATHS:
        if path.endswith(ending) and "/threads/" not in path:
            return dialect
    raise KeyError(url)


def model_in_url(url: str) -> str | None:
    """The model that Bedrock and Gemini paths name."""
    match = re.search(r"/models?/([^/?]+?)(:[A-Za-z]+)?(/|\?|$)", unquote(url))
    return match[1] if match else None


def dialect_of_body(body: Body, provider: str | None, prefer: Dialect | None = None) -> Dialect | None:
    """The dialect of a body by its own fields, then by its provider, then `prefer`; None if it has no prompt."""
    if body.contents is not UNSET:
        return Dialect.GEMINI
    if body.messages is UNSET or body.messages is None:
        if body.input is not UNSET:
            return Dialect.OPENAI_RESPONSES
        return Dialect.TEXT if body.prompt is not UNSET else None
    if body.anthropic_version is not UNSET:
        return Dialect.ANTHROPIC
    if body.tool_config is not UNSET or body.inference_config is not UNSET or body.model_id is not None:
        return Dialect.BEDROCK
    if body.system is not UNSET:
        if _CONVERSE_BLOCK.match(bytes(body.system).lstrip(b"[ ")):
            return Dialect.BEDROCK
        return Dialect.ANTHROPIC
    if body.tools is not UNSET:
        tools = bytes(body.tools)[:4096]
        if b'"function"' in tools or b'"parameters"' in tools:
            return Dialect.OPENAI_CHAT
        if b'"input_schema"' in tools:
            return Dialect.ANTHROPIC
    if provider is not None and "anthropic" in provider:
        return Dialect.ANTHROPIC
    if provider is not None and ("openai" in provider or provider == "azure"):
        return Dialect.OPENAI_CHAT
    if body.thinking is not UNSET or body.output_config is not UNSET:
        return prefer or Dialect.ANTHROPIC
    return prefer or Dialect.OPENAI_CHAT


def provider_of(url: str | None, dialect: Dialect, model: str | None, body: Body) -> str | None:
    """The provider by the host called, by the dialect, or by the family of the model; None if unknown."""
    if url:
        host = url.split("//", 1)[-1].split("/", 1)[0]
        for part, provider in _HOSTS:
            if part in host:
                return "google-claude" if provider == "vertex" and dialect is Dialect.ANTHROPIC else provider
        return None
    if body.anthropic_version is not UNSET and b"bedrock" in bytes(body.anthropic_version):
        return "bedrock"
    known = _OF_DIALECT.get(dialect)
    if known is None and model and _OPENAI_MODEL.match(model):
        return "openai"
    return known
