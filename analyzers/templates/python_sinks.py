"""Model calls: which calls send a prompt to a model, and where in them its pieces stand."""

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import analyzers.templates.python_patterns as patterns
from analyzers.templates.parts import Parameter, Part, Prompt, Scope, Span, Text, Value
from analyzers.templates.python_names import dotted_name
from analyzers.templates.python_request import RequestParts, is_message_list
from analyzers.templates.python_sources import is_of_python
from analyzers.templates.python_state import Emitted, Run
from analyzers.templates.python_values import (
    Abstract,
    External,
    Fields,
    Items,
    Pattern,
    Words,
)

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments


@dataclass(frozen=True, slots=True)
class Api:
    """A kind of model call: the names of its pieces, and the order in which the provider renders them."""

    provider: str | None
    system: tuple[str, ...] = ()
    messages: tuple[str, ...] = ("messages",)
    order: str = "tools, messages as sent"


ANTHROPIC = Api("anthropic", ("system",), order="tools, system, messages")
OPENAI = Api("openai")
RESPONSES = Api("openai", ("instructions",), ("input",), "tools, instructions, input")
GEMINI = Api(
    "gemini", ("system_instruction",), ("contents", "content"), "tools, system instruction, contents"
)
BEDROCK = Api("bedrock", ("system",), order="tools, system, messages")
COMPLETION = Api(None, ("system",), ("prompt", "prompts", "message"), "as sent")
CHAT = Api(None, ("system", "preamble", "instructions"), order="tools, system, messages")

_CALLS: tuple[tuple[re.Pattern[str], Api, int | None], ...] = (
    (re.compile(r"\bchat\.completions\.(?:create|parse|stream)$|\bchat\.completions\.with_raw_response\.create$"), OPENAI, None),
    (re.compile(r"\bchat\.completions\.create_with_completion$|\bchat\.complete(?:_async)?$"), OPENAI, None),
    (re.compile(r"\bresponses\.(?:create|parse|stream)$"), RESPONSES, None),
    (re.compile(r"\bcompletions\.create$"), COMPLETION, None),
    (re.compile(r"\bmessages\.(?:create|stream|parse|with_raw_response\.create)$"), ANTHROPIC, None),
    (re.compile(r"(?:^|\.)generate_content(?:_stream|_async)?$"), GEMINI, 0),
    (re.compile(r"(?:^|\.)converse(?:_stream)?$"), BEDROCK, None),
    (re.compile(r"(?:^|\.)a?completion(?:_with_retries)?$"), OPENAI, 1),
    (re.compile(r"(?:^|\.)apply_chat_template$"), CHAT, 0),
    (re.compile(r"\bollama(?:\.\w+\(\))?\.(?:chat|generate)$"), CHAT, None),
)  # fmt: skip
_BODY_CALLS = re.compile(r"(?:^|\.)invoke_model(?:_with_response_stream)?$")
_POSTS = re.compile(r"(?:^|\.)(?:post|request|stream|Request|urlopen)$")
_API_PATH = re.compile(
    r"/chat/completions|/v1/messages|/v1/responses|/v1/completions|:generateContent|:streamGenerateContent|"
    r"/api/(?:chat|generate)\b|/converse\b|/invoke\b|/generate\b"
)
_VLLM = re.compile(r"\bvllm\.(?:\w+\.)*(?:Async)?LLM(?:Engine)?\(\)\.(?:generate|chat|encode)$")
_CHAT_MODEL = re.compile(
    r"(?:\bChat[A-Z]\w*|\binit_chat_model|\b[Ll][Ll][Mm]|\b(?:chat_)?model|\bchain)\b[^.]*\.(?:a?invoke|a?stream|a?predict|a?batch|a?generate)$"
)
_INVOKES = re.compile(r"\.(?:a?invoke|a?stream|a?batch|a?predict|a?chat|a?generate|a?call|a?complete)$")
_NOT_PROMPT = frozenset(
    {"model", "messages", "system", "input", "instructions", "contents", "content", "prompt", "tools"}
)
_PARAMETERS = frozenset(
    "model tool_choice parallel_tool_calls thinking reasoning reasoning_effort response_format temperature "
    "prompt_cache_key prompt_cache_retention cached_content output_config effort thinking_config modelId".split()
)


def model_call(
    run: Run, called: str, given: "Arguments", node: ast.Call, function: External | None = None
) -> Abstract | None:
    """The reply, when the call is one to a model; its prompt is added to the run. None for any other call."""
    members = _members(run, called, given, function)
    if members is None:
        return None
    api, pieces = members
    if not any(name in pieces for name in (*api.messages, *api.system)):
        return None
    if api is COMPLETION and _batch(run, pieces, node, given.open):
        return Value(run.shown(node)[:80], run.span(node), ("reply",))
    request = RequestParts(run, run.span(node), api.provider)
    tools = _tools(run, pieces)
    if tools is not None:
        request.tools(tools)
    for name in api.system:
        if name in pieces:
            request.system(pieces[name], name)
    for name in api.messages:
        if name in pieces:
            request.messages(pieces[name], name)
    if "cache_control" in pieces:
        request.automatic(pieces["cache_control"])
    _emit(run, request, pieces, api, run.span(node), given.open)
    return Value(run.shown(node)[:80], run.span(node), ("reply",))


def known_client_call(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    """The reply of `….chat.completions.create` and the like, whoever wrote the client; None for other calls."""
    called = dotted_name(node.func)
    plain = called is not None and any(
        pattern.search(called) for pattern, api, _ in _CALLS if api in (OPENAI, RESPONSES, ANTHROPIC)
    )
    if called is None or not plain:
        return None
    return model_call(run, called, given, node)


def _batch(run: Run, pieces: dict[str, Abstract], node: ast.Call, is_open: bool) -> bool:
    """Add each prompt of a list of prompts by itself. False when it is not a list."""
    for name in COMPLETION.messages:
        held = run.at(pieces[name]) if name in pieces else None
        if isinstance(held, Items):
            for item in held.items:
                request = RequestParts(run, run.span(node), None)
                request.messages(item.value, name)
                _emit(run, request, pieces, COMPLETION, run.span(node), is_open)
            return True
    return False


def _members(
    run: Run, called: str, given: "Arguments", function: External | None
) -> tuple[Api, dict[str, Abstract]] | None:
    """The kind of call, and its pieces by name; None when it is none to a model."""
    pieces = dict(given.keywords)
    for pattern, api, position in _CALLS:
        if pattern.search(called):
            if position is not None and len(given.positional) > position and api.messages[0] not in pieces:
                pieces[api.messages[0]] = given.positional[position]
            if (
                api is OPENAI
                and "litellm" not in called
                and called.endswith("completion")
                and not _has_messages(run, pieces)
            ):
                return None
            if api is ANTHROPIC and not pieces.keys() & {"messages", "system", "max_tokens"}:
                return None
            return api, _gemini(run, pieces, function) if api is GEMINI else pieces
    if _BODY_CALLS.search(called):
        return _body(run, pieces.get("body"), None, BEDROCK)
    if _POSTS.search(called):
        return _posted(run, given)
    if _VLLM.search(called) or (called in ("llm.generate", "llm.chat", "self.llm.generate", "self.llm.chat")):
        pieces.setdefault("messages" if called.endswith("chat") else "prompts", given.get(0) or Words(()))
        return (CHAT if called.endswith("chat") else COMPLETION), pieces
    if function is not None and is_of_python(called):
        return None
    if "messages" in pieces and is_message_list(run, pieces["messages"]):
        return CHAT, pieces
    if _INVOKES.search(called) and given.positional:
        first = given.positional[0]
        if is_message_list(run, first) or (_CHAT_MODEL.search(called) and isinstance(run.at(first), Words)):
            return CHAT, {**pieces, "messages": first}
    return None


def _has_messages(run: Run, pieces: dict[str, Abstract]) -> bool:
    return "messages" in pieces


def _gemini(run: Run, pieces: dict[str, Abstract], function: External | None) -> dict[str, Abstract]:
    """The pieces of Gemini's configuration object, and those of the model object that is called."""
    found = dict(pieces)
    config = run.at(found.pop("config", Words(())))
    if isinstance(config, External):
        found |= dict(config.keywords)
    elif isinstance(config, Fields):
        found |= {entry.key: entry.value for entry in config.entries if entry.key is not None}
    if function is not None and "GenerativeModel" in function.dotted:
        found |= {name: value for name, value in function.keywords if name not in found}
    return found


def _tools(run: Run, pieces: dict[str, Abstract]) -> Abstract | None:
    for name in ("tools", "functions"):
        if name in pieces:
            return pieces[name]
    config = run.at(pieces.get("toolConfig", Words(())))
    return config.get("tools") if isinstance(config, Fields) else None


def _posted(run: Run, given: "Arguments") -> tuple[Api, dict[str, Abstract]] | None:
    """A request body that is sent over HTTP."""
    url = next((words for value in given.values() if (words := _url(run, value)) is not None), "")
    path = _API_PATH.search(url)
    for name in ("json", "data", "content", "body"):
        if name in given.keywords:
            found = _body(run, given.keywords[name], path[0] if path else None, None)
            if found is not None:
                return found
    return None


def _url(run: Run, value: Abstract) -> str | None:
    held = run.at(value)
    if not isinstance(held, Words):
        return None
    text = "".join(part.text if isinstance(part, Text) else "…" for part in held.parts)
    return text if "/" in text and len(text) < 2000 else None


def _body(
    run: Run, value: Abstract | None, path: str | None, api: Api | None
) -> tuple[Api, dict[str, Abstract]] | None:
    """The pieces of a request body: a dict, or the JSON text made of one."""
    held = run.at(value) if value is not None else None
    if isinstance(held, Words | Value):
        span = _body_span(held)
        held = run.at(run.bodies[span]) if span in run.bodies else None
    if not isinstance(held, Fields):
        return None
    pieces = {entry.key: entry.value for entry in held.entries if entry.key is not None}
    if api is None:
        if path is None and not ("model" in pieces and pieces.keys() & {"messages", "input", "prompt"}):
            return None
        if path == "/v1/messages" or ("system" in pieces and "max_tokens" in pieces):
            api = ANTHROPIC
        elif "contents" in pieces:
            api = GEMINI
        elif "messages" in pieces:
            api = OPENAI if path is None or "completions" in path else CHAT
        else:
            api = RESPONSES if "input" in pieces else COMPLETION
    if "prompt" in pieces and "messages" not in pieces:
        api = COMPLETION
    return api, pieces


def _body_span(value: Words | Value) -> Span | None:
    if isinstance(value, Value):
        return value.span
    return value.parts[0].span if value.parts else None


def prompt_of(run: Run, content: Abstract, node: ast.AST, provider: str) -> None:
    """Add the prompt that a filled template gives: messages, or one text."""
    request = RequestParts(run, run.span(node), None)
    request.messages(content, "messages")
    _emit(run, request, {}, CHAT, run.span(node), True)


def template(run: Run, pattern: Pattern, span: Span, node: ast.AST) -> None:
    """Add a prompt template as it is defined, its placeholders being values of their names."""
    content: Abstract
    content = (
        patterns.chat_messages(run, pattern) if pattern.style == "chat" else patterns.rendered(run, pattern)
    )
    request = RequestParts(run, span, None)
    request.messages(content, "messages")
    _emit(run, request, {}, CHAT, span, True)


def _emit(
    run: Run, request: RequestParts, pieces: dict[str, Abstract], api: Api, span: Span, is_open: bool
) -> None:
    from analyzers.templates.python_guards import read_names
    from analyzers.templates.python_text import values_in

    parts: list[Part] = request.parts
    if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
        return
    parameters = []
    for name, value in pieces.items():
        if name not in _PARAMETERS:
            continue
        found = [v for v in values_in(run, value) if v.scope is None or v.scope.rank > Scope.RELEASE.rank]
        branches = _depends(run, value)
        names, made = read_names(run, value)
        for guard_names, guard_calls in branches:
            names, made = (*names, *guard_names), (*made, *guard_calls)
        expression = found[0].expression if found else _shown(run, value)
        if (
            not branches
            and not (name == "model" and "environ" in expression + "".join(made))
            and name != "prompt_cache_key"
        ):
            names, made = (), ()
        parameters.append(Parameter("model" if name == "modelId" else name, expression, span, names, made))
    if is_open:
        parameters.append(Parameter("**", "", span))
    model = pieces.get("model", pieces.get("modelId"))
    word = run.at(model) if model is not None else None
    known = word.constant if isinstance(word, Words) else None
    run.emitted.append(
        Emitted(
            Prompt(
                "", "python", tuple(parts), run.frame.name or "module", known, _provider(api, known), api.order,
                parameters=tuple(parameters),
            ),
            run.chain,
            span,
        )
    )  # fmt: skip


def _provider(api: Api, model: str | None) -> str | None:
    if api.provider == "openai" and model is not None and "claude" in model:
        return "bedrock" if "bedrock" in model else "anthropic"
    return api.provider


def _depends(run: Run, value: Abstract) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The names and calls of the conditions that decide on a value."""
    from analyzers.templates.python_values import Choice

    held = run.at(value)
    guards = []
    if isinstance(held, Words):
        guards = [guard for part in held.parts for guard in part.guards]
    elif isinstance(held, Choice):
        guards = [guard for around, _ in held.arms for guard in around]
    elif isinstance(held, Fields):
        return [found for entry in held.entries for found in _depends(run, entry.value)]
    elif isinstance(held, Value):
        guards = list(held.guards)
    return [(guard.names, guard.calls) for guard in guards]


def _shown(run: Run, value: Abstract) -> str:
    held = run.at(value)
    if isinstance(held, Words):
        texts = [part.text if isinstance(part, Text) else part.expression for part in held.parts]
        return " or ".join(texts) if any(part.guards for part in held.parts) else "".join(texts)
    return getattr(held, "expression", "") or str(getattr(held, "value", "a choice"))
