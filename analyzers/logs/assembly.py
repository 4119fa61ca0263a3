"""From a body to its parts, in the order in which the provider renders them, and its cache-key parameters."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import UNSET, Raw, Struct

from analyzers.logs.body import Body, Field, FieldSet, sent
from analyzers.logs.reader import NotThisFormatError
from analyzers.request import Dialect, Parameters, Part, PartKind, PartStore

_LIST = msgspec.json.Decoder(list[Raw])

# Field of Body -> dotted path, of the parameters that each dialect's rules name as part of the prompt or key.
_PARAMETERS: dict[Dialect, dict[str, str]] = {
    Dialect.OPENAI_CHAT: {
        "tool_choice": "tool_choice",
        "parallel_tool_calls": "parallel_tool_calls",
        "function_call": "function_call",
        "reasoning_effort": "reasoning_effort",
        "reasoning": "reasoning",
        "verbosity": "verbosity",
        "modalities": "modalities",
        "web_search_options": "web_search_options",
        "thinking": "thinking",
        "enable_thinking": "enable_thinking",
        "chat_template_kwargs": "chat_template_kwargs",
        "cache_control": "cache_control",
        "prompt_cache_options": "prompt_cache_options",
        "prompt_cache_retention": "prompt_cache_retention",
        "service_tier": "service_tier",
    },
    Dialect.OPENAI_RESPONSES: {
        "tool_choice": "tool_choice",
        "parallel_tool_calls": "parallel_tool_calls",
        "reasoning": "reasoning",
        "prompt": "prompt",
        "previous_response_id": "previous_response_id",
        "conversation": "conversation",
        "context_management": "context_management",
        "prompt_cache_options": "prompt_cache_options",
        "prompt_cache_retention": "prompt_cache_retention",
        "service_tier": "service_tier",
    },
    Dialect.ANTHROPIC: {
        "tool_choice": "tool_choice",
        "thinking": "thinking",
        "output_config": "output_config",
        "cache_control": "cache_control",
        "context_management": "context_management",
        "mcp_servers": "mcp_servers",
        "service_tier": "service_tier",
        "speed": "speed",
        "inference_geo": "inference_geo",
        "betas": "betas",
        "anthropic_beta": "anthropic_beta",
    },
    Dialect.GEMINI: {
        "tool_config": "toolConfig",
        "cached_content": "cachedContent",
        "service_tier": "service_tier",
    },
    Dialect.BEDROCK: {
        "additional_fields": "additionalModelRequestFields",
        "performance_config": "performanceConfig",
        "service_tier": "serviceTier",
    },
    Dialect.TEXT: {
        "prompt_cache_options": "prompt_cache_options",
        "prompt_cache_retention": "prompt_cache_retention",
        "service_tier": "service_tier",
    },
}
_PARAMETER_FIELDS = {dialect: FieldSet(list(paths)) for dialect, paths in _PARAMETERS.items()}


class _Text(Struct):
    format: Field = UNSET
    verbosity: Field = UNSET


class _GenerationConfig(Struct, rename="camel"):
    response_schema: Field = UNSET
    response_json_schema: Field = UNSET
    response_mime_type: Field = UNSET
    response_modalities: Field = UNSET
    thinking_config: Field = UNSET
    media_resolution: Field = UNSET


class _ToolConfig(Struct, rename="camel"):
    tools: Field = UNSET
    tool_choice: Field = UNSET


class _CohereTurn(Struct):
    role: str
    message: Field = UNSET


_COHERE_TURNS = msgspec.json.Decoder(list[_CohereTurn])


class Assembler:
    """Turns bodies into interned parts and parameters."""

    def __init__(self, store: PartStore) -> None:
        self._intern = {
            (dialect, kind): store.interner(dialect, kind) for dialect in Dialect for kind in PartKind
        }
        self._messages = {dialect: self._intern[dialect, PartKind.MESSAGE] for dialect in Dialect}
        self._known_parameters: dict[Parameters, Parameters] = {}

    def assemble(self, dialect: Dialect, body: Body) -> tuple[tuple[Part, ...], Parameters]:
        """The parts and the parameters of a body. Raises NotThisFormatError if it has no prompt."""
        parts: list[Part] = []
        parameters: list[tuple[str, bytes]] = []
        _FILL[dialect](self, body, parts, parameters)
        if not parts:
            raise NotThisFormatError("no prompt", "the body has neither messages nor any other text")
        paths = _PARAMETERS[dialect]
        parameters += [(paths[n], raw) for n, raw in _PARAMETER_FIELDS[dialect].sent(body) if raw != b"null"]
        if not parameters:
            return tuple(parts), ()
        key = tuple(parameters)
        return tuple(parts), self._known_parameters.setdefault(key, key)

    def output(self, dialect: Dialect, raw: bytes) -> Part:
        """The answer as a part."""
        return self._intern[dialect, PartKind.RESPONSE](raw)

    def _add(self, dialect: Dialect, kind: PartKind, value: Field, parts: list[Part]) -> None:
        raw = sent(value)
        if raw is not None and raw not in (b"[]", b'""'):
            parts.append(self._intern[dialect, kind](raw))

    def _add_messages(self, dialect: Dialect, body: Body, parts: list[Part]) -> None:
        messages = body.messages
        if messages:
            parts.extend(map(self._messages[dialect], map(bytes, messages)))

    def _add_items(self, dialect: Dialect, value: Field, parts: list[Part]) -> None:
        """Input items or contents: a list, or one value that stands for a list of one."""
        raw = sent(value)
        if raw is None:
            return
        items = map(bytes, _LIST.decode(raw)) if raw[:1] == b"[" else [raw]
        parts.extend(map(self._messages[dialect], items))

    def openai_chat(self, body: Body, parts: list[Part], parameters: list[tuple[str, bytes]]) -> None:
        """Schema, tools, messages."""
        chat = Dialect.OPENAI_CHAT
        response_format = sent(body.response_format)
        if response_format is not None:
            if b'"json_schema"' in response_format:
                parts.append(self._intern[chat, PartKind.SCHEMA](response_format))
            else:
                parameters.append(("response_format", response_format))
        self._add(chat, PartKind.TOOLS, body.tools, parts)
        self._add(chat, PartKind.TOOLS, body.functions, parts)
        if body.message is UNSET:
            self._add_messages(chat, body, parts)
        else:
            parts.extend(map(self._messages[chat], _cohere_messages(body)))

    def openai_responses(self, body: Body, parts: list[Part], parameters: list[tuple[str, bytes]]) -> None:
        """Schema, tools, instructions, input items."""
        responses = Dialect.OPENAI_RESPONSES
        text = sent(body.text)
        if text is not None and text[:1] == b"{":
            fields = msgspec.json.decode(text, type=_Text)
            text_format = sent(fields.format)
            if text_format is not None and b'"json_schema"' in text_format:
                parts.append(self._intern[responses, PartKind.SCHEMA](text_format))
            elif text_format is not None:
                parameters.append(("text.format", text_format))
            _add_parameter("text.verbosity", fields.verbosity, parameters)
        self._add(responses, PartKind.TOOLS, body.tools, parts)
        self._add(responses, PartKind.SYSTEM, body.instructions, parts)
        self._add_items(responses, body.input, parts)

    def anthropic(self, body: Body, parts: list[Part], parameters: list[tuple[str, bytes]]) -> None:
        """Tools, system, the output format (it is put into the system prompt), messages."""
        anthropic = Dialect.ANTHROPIC
        self._add(anthropic, PartKind.TOOLS, body.tools, parts)
        self._add(anthropic, PartKind.SYSTEM, body.system, parts)
        self._add(anthropic, PartKind.SCHEMA, body.output_format, parts)
        self._add_messages(anthropic, body, parts)

    def gemini(self, body: Body, parts: list[Part], parameters: list[tuple[str, bytes]]) -> None:
        """Schema, tools, system instruction, contents."""
        gemini = Dialect.GEMINI
        config = sent(body.generation_config) or sent(body.generation_config_snake)
        if config is not None:
            fields = msgspec.json.decode(config, type=_GenerationConfig)
            self._add(gemini, PartKind.SCHEMA, fields.response_schema, parts)
            self._add(gemini, PartKind.SCHEMA, fields.response_json_schema, parts)
            _add_parameter("generationConfig.responseMimeType", fields.response_mime_type, parameters)
            _add_parameter("generationConfig.responseModalities", fields.response_modalities, parameters)
            _add_parameter("generationConfig.thinkingConfig", fields.thinking_config, parameters)
            _add_parameter("generationConfig.mediaResolution", fields.media_resolution, parameters)
        self._add(gemini, PartKind.TOOLS, body.tools, parts)
        self._add(gemini, PartKind.SYSTEM, body.system_instruction, parts)
        self._add(gemini, PartKind.SYSTEM, body.system_instruction_snake, parts)
        self._add_items(gemini, body.contents, parts)

    def bedrock(self, body: Body, parts: list[Part], parameters: list[tuple[str, bytes]]) -> None:
        """Tools, system, messages; cache points stay where they stand in each."""
        bedrock = Dialect.BEDROCK
        tool_config = sent(body.tool_config)
        if tool_config is not None:
            fields = msgspec.json.decode(tool_config, type=_ToolConfig)
            self._add(bedrock, PartKind.TOOLS, fields.tools, parts)
            _add_parameter("toolConfig.toolChoice", fields.tool_choice, parameters)
        self._add(bedrock, PartKind.SYSTEM, body.system, parts)
        self._add_messages(bedrock, body, parts)

    def text(self, body: Body, parts: list[Part], parameters: list[tuple[str, bytes]]) -> None:
        """The prompt of a text completion, if it is one string."""
        raw = sent(body.prompt)
        if raw is not None and raw[:1] == b'"':
            prompt: str = msgspec.json.decode(raw)
            parts.append(self._intern[Dialect.TEXT, PartKind.TEXT](prompt.encode()))


def _cohere_messages(body: Body) -> Iterator[bytes]:
    """Preamble, history and message of Cohere's first chat API as chat messages."""
    preamble, history, message = sent(body.preamble), sent(body.chat_history), sent(body.message)
    if preamble is not None:
        yield b'{"role":"system","content":%s}' % preamble
    for turn in _COHERE_TURNS.decode(history) if history is not None else []:
        role = b"user" if turn.role.lower() == "user" else b"assistant"
        yield b'{"role":"%s","content":%s}' % (role, sent(turn.message) or b'""')
    if message is not None:
        yield b'{"role":"user","content":%s}' % message


def _add_parameter(path: str, value: Field, parameters: list[tuple[str, bytes]]) -> None:
    raw = sent(value)
    if raw is not None:
        parameters.append((path, raw))


_Fill = Callable[[Assembler, Body, list[Part], list[tuple[str, bytes]]], None]
_FILL: dict[Dialect, _Fill] = {
    Dialect.OPENAI_CHAT: Assembler.openai_chat,
    Dialect.OPENAI_RESPONSES: Assembler.openai_responses,
    Dialect.ANTHROPIC: Assembler.anthropic,
    Dialect.GEMINI: Assembler.gemini,
    Dialect.BEDROCK: Assembler.bedrock,
    Dialect.TEXT: Assembler.text,
}
