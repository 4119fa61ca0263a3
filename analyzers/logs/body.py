"""A request body with its outer object decoded and everything inside left as raw bytes.

One struct holds the fields of all dialects, so a line is decoded once, before its dialect is known. Fields
that cannot change the prompt, the cache key or the identity of a request are not listed and not kept.
Field names: the Chat Completions, Responses, Messages, generateContent, Converse and InvokeModel references
and the vLLM server's extra parameters, read November 2026.
"""

from collections.abc import Sequence
from operator import attrgetter

from msgspec import UNSET, Raw, Struct, UnsetType, field

Field = Raw | UnsetType
"""A JSON value as sent; UNSET where the object has no such key."""
_NULL = Raw(b"null")


class Body(Struct):
    """The body of a model call in any dialect."""

    model: str | None = None
    messages: list[Raw] | UnsetType | None = UNSET
    tools: Field = UNSET
    system: Field = UNSET
    # Responses
    input: Field = UNSET
    instructions: Field = UNSET
    text: Field = UNSET
    reasoning: Field = UNSET
    previous_response_id: Field = UNSET
    conversation: Field = UNSET
    # Gemini
    contents: Field = UNSET
    system_instruction: Field = field(name="systemInstruction", default=UNSET)
    system_instruction_snake: Field = field(name="system_instruction", default=UNSET)
    generation_config: Field = field(name="generationConfig", default=UNSET)
    generation_config_snake: Field = field(name="generation_config", default=UNSET)
    cached_content: Field = field(name="cachedContent", default=UNSET)
    # Bedrock; Gemini has a toolConfig too
    model_id: str | None = field(name="modelId", default=None)
    tool_config: Field = field(name="toolConfig", default=UNSET)
    inference_config: Field = field(name="inferenceConfig", default=UNSET)
    additional_fields: Field = field(name="additionalModelRequestFields", default=UNSET)
    performance_config: Field = field(name="performanceConfig", default=UNSET)
    anthropic_version: Field = UNSET
    # Text completion
    prompt: Field = UNSET
    # Cohere's first chat API
    message: Field = UNSET
    preamble: Field = UNSET
    chat_history: Field = UNSET
    # Parameters
    response_format: Field = UNSET
    output_format: Field = UNSET
    output_config: Field = UNSET
    tool_choice: Field = UNSET
    parallel_tool_calls: Field = UNSET
    functions: Field = UNSET
    function_call: Field = UNSET
    thinking: Field = UNSET
    reasoning_effort: Field = UNSET
    verbosity: Field = UNSET
    modalities: Field = UNSET
    web_search_options: Field = UNSET
    cache_control: Field = UNSET
    context_management: Field = UNSET
    mcp_servers: Field = UNSET
    prompt_cache_options: Field = UNSET
    prompt_cache_retention: Field = UNSET
    service_tier: Field = UNSET
    speed: Field = UNSET
    inference_geo: Field = UNSET
    betas: Field = UNSET
    anthropic_beta: Field = UNSET
    enable_thinking: Field = UNSET
    chat_template_kwargs: Field = UNSET
    # Identity
    provider: Field = UNSET
    prompt_cache_key: Field = UNSET
    prompt_cache_isolation_key: Field = UNSET
    cache_salt: Field = UNSET
    safety_identifier: Field = UNSET
    user: Field = UNSET
    metadata: Field = UNSET


class Exchange(Body):
    """A body, or the HTTP request around one."""

    url: str | None = None
    uri: str | None = None
    method: str | None = None
    headers: Field = UNSET
    body: Body | str | UnsetType | None = UNSET
    timestamp: Field = UNSET


class Row(Exchange):
    """One row of a log of calls: a bare body, a request with its response, or an HTTP exchange."""

    request: Exchange | str | UnsetType | None = UNSET
    request_body: Exchange | str | UnsetType | None = UNSET
    response: Field = UNSET
    response_body: Field = UNSET
    usage: Field = UNSET
    id: Field = UNSET
    request_id: Field = UNSET
    # Times
    time: Field = UNSET
    ts: Field = UNSET
    created: Field = UNSET
    created_at: Field = UNSET
    start_time: Field = UNSET
    start_time_camel: Field = field(name="startTime", default=UNSET)
    first_token_at: Field = UNSET
    first_token_time: Field = UNSET
    end_time: Field = UNSET
    end_time_camel: Field = field(name="endTime", default=UNSET)
    # Identity
    tenant: Field = UNSET
    tenant_id: Field = UNSET
    organization_id: Field = UNSET
    org_id: Field = UNSET
    workspace: Field = UNSET
    workspace_id: Field = UNSET
    project: Field = UNSET
    project_id: Field = UNSET
    user_id: Field = UNSET
    session: Field = UNSET
    session_id: Field = UNSET
    conversation_id: Field = UNSET
    thread_id: Field = UNSET
    adapter: Field = UNSET
    lora: Field = UNSET
    route: Field = UNSET
    endpoint: Field = UNSET
    # What can explain a miss
    upstream: Field = UNSET
    region: Field = UNSET
    deployment: Field = UNSET
    replica: Field = UNSET
    host: Field = UNSET
    client_version: Field = UNSET
    version: Field = UNSET
    environment: Field = UNSET


class FieldSet:
    """Two or more fields of a struct that are mostly missing, looked at together."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._get = attrgetter(*names)

    def sent(self, struct: Struct) -> list[tuple[str, bytes]]:
        """Name and bytes of those that were sent, in the order of the names."""
        values = self._get(struct)
        if values.count(UNSET) == len(values):
            return []
        return [(n, bytes(v)) for n, v in zip(self._names, values, strict=True) if v is not UNSET]


def sent(value: Field) -> bytes | None:
    """The bytes of a field, None where it is missing or null."""
    if value is UNSET or value == _NULL:
        return None
    return bytes(value)
