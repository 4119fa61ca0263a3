"""What source must hold for a prompt to be sent from it: traits of a piece of source, read from its tree alone.

Each trait is necessary for some way to a model call; `may_send` says which of them together make one possible.
They err on the side of yes: whatever the evaluator can take for a model call has them.
"""

import ast
import builtins
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntFlag, auto

from analyzers.templates.python_sources import is_of_python


class Trait(IntFlag):
    """What a piece of source has that model calls need."""

    SENDS = auto()
    """A call of a known form, or a template object that is a prompt."""
    TEMPLATE = auto()
    """A template object of `string` or Jinja2."""
    FILLS = auto()
    """A method that fills a template and sends it on."""
    NAMED = auto()
    """A call that gives a piece of a prompt by name to something that may be a library's."""
    OPENED = auto()
    """A call with `**`."""
    HANDED = auto()
    """A call with the `**` of the function around it."""
    KEYWORD = auto()
    """An argument `messages=`."""
    LISTED = auto()
    """A call with `messages=`."""
    INVOKED = auto()
    """A method such as `invoke` with an argument."""
    ASKED = auto()
    """One that a chat model may have, of an object that may be one."""
    HELD = auto()
    """Such a method that is not called where it stands."""
    CALLS = auto()
    """A call with arguments of what a local name, or another call, gives."""
    GENERATED = auto()
    """A method such as `generate` of an engine."""
    POSTED = auto()
    """An HTTP call with a body."""
    METHOD = auto()
    """A method of a client that is passed on, not called."""
    SEEKS = auto()
    """`getattr` with a name that does not stand there."""
    METHOD_NAME = auto()
    """A text that is the name of such a method."""
    MESSAGES = auto()
    """A member `messages` of a dict, or an argument of that name."""
    ROLE = auto()
    """What a message is known by."""
    BODY = auto()
    """What a request body is known by."""
    MODEL = auto()
    """What a chat model is known by."""
    VLLM = auto()
    """What an engine is known by."""
    POSTING = auto()
    """A function that sends a body, passed on and not called."""


NONE = Trait(0)
_TOGETHER = (
    Trait.SENDS,
    Trait.TEMPLATE | Trait.FILLS,
    Trait.NAMED | Trait.METHOD,
    Trait.OPENED | Trait.METHOD,
    Trait.LISTED | Trait.ROLE,
    Trait.OPENED | Trait.MESSAGES | Trait.ROLE,
    Trait.HANDED | Trait.KEYWORD | Trait.ROLE,
    Trait.INVOKED | Trait.ROLE,
    Trait.ASKED | Trait.MODEL,
    Trait.GENERATED | Trait.VLLM,
    Trait.POSTED | Trait.BODY,
    Trait.POSTING | Trait.NAMED | Trait.BODY,
    Trait.POSTING | Trait.OPENED | Trait.BODY,
    Trait.HELD | Trait.CALLS | Trait.ROLE,
    Trait.HELD | Trait.CALLS | Trait.MODEL,
    Trait.SEEKS | Trait.METHOD_NAME | Trait.CALLS,
    Trait.SEEKS | Trait.METHOD_NAME | Trait.NAMED,
)
"""Each of these makes a model call possible."""


def may_send(traits: Trait) -> bool:
    """True when source with these traits may send a prompt."""
    return any(traits & each == each for each in _TOGETHER)


_PIECES = frozenset(
    "messages system instructions input contents content prompt prompts message preamble".split()
)
_BODIES = frozenset("json data content body".split())
_BY_NAME = frozenset("create parse stream create_with_completion complete complete_async".split())
_HANDS_ON = frozenset({"map", "to_thread", "partial"})
_CLIENT_PARTS = frozenset({"messages", "completions", "responses", "chat", "with_raw_response"})
_SOUGHT = frozenset("create acreate parse invoke ainvoke predict apredict generate agenerate".split())
"""Methods of clients that are looked for by a name that is computed, or held under another name."""
_POSTS = frozenset("post request stream Request urlopen".split())
_INVOKES = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "a")
    for name in "invoke stream batch predict chat generate call complete".split()
)
_ASKS = frozenset(
    f"{prefix}{name}" for prefix in ("", "a") for name in "invoke stream predict batch generate".split()
)
_GENERATES = frozenset({"generate", "chat", "encode"})
_SURE = re.compile(
    r"^(?:a?completion(?:_with_retries)?|generate_content(?:_stream|_async)?|converse(?:_stream)?|"
    r"apply_chat_template|invoke_model(?:_with_response_stream)?)$"
)
_PROMPT_TEMPLATE = re.compile(r"PromptTemplate|MessagesPlaceholder")
_TEMPLATES = frozenset({"from_string", "get_template", "Template"})
_FILLS = frozenset(
    "invoke ainvoke stream astream batch format_messages format_prompt aformat_messages partial".split()
)
_ROLE = re.compile(
    r"\brole\b|(?:System|Human|User|AI|Assistant|Tool|Developer)Message|"
    r"""["'](?:system|human|user|ai|assistant)["']"""
)
_BODY = re.compile(r"""["'](?:messages|input|prompt|contents)["']|\b(?:messages|input|prompt|contents)\s*=""")
_CLIENT = re.compile(
    r"model|llm|chain|chat|client|agent|bot\b|openai|assistant|ollama|session|http|requests|api", re.I
)
"""What is handed on of any other object is its data, not a method."""
_MODEL = re.compile(r"\bChat[A-Z]|\binit_chat_model\b|\b[Ll][Ll][Mm]\b|\b(?:chat_)?model\b|\bchain\b")
_TELLING = re.compile(
    r"\b(?:messages|system|instructions|input|contents?|prompts?|message|preamble|json|data|body)\s*=(?!=)|\*\*|"
    r"completion|generate_content|converse|apply_chat|invoke|Template|Placeholder|from_string|get_template|getattr|"
    r"\.\s*(?:a?(?:stream|batch|predict|chat|generate|call|complete)|encode|partial|format_prompt)\b|"
    r"\.\s*(?:a?format_messages|create|acreate|parse|create_with_completion|complete_async)\b|"
    r"\b(?:post|urlopen|Request|map|to_thread|llm|vllm)\b|\b(?:request|stream)\s*\(|\.\s*(?:request|stream)\b|"
    r"[\"'](?:create|acreate|parse|predict|apredict|generate|agenerate|messages)[\"']"
)


def is_telling(name: str) -> bool:
    """True for the full name of something of a library that model calls may be made with."""
    last = name.rpartition(".")[2]
    return bool(_TELLING.search(f".{last}=") or _TELLING.search(f"{last}(")) or name.startswith("vllm")


KindOf = Callable[[str], str | None]
"""What a name stands for at the top of its file: "project" for a function or class of the project, "module" for one of
its modules, "object" for what a library's call gives, the full name for something of a library, else None."""
_OF_PROJECT = ("project", "module", "object")
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Own:
    """The names that a piece of source sets itself, those of its `**` parameters, and the methods of its class."""

    names: frozenset[str]
    rest: frozenset[str]
    methods: frozenset[str]


def traits_of(
    nodes: Iterable[ast.AST], text: str, methods: frozenset[str], kind_of: KindOf, is_open: bool = False
) -> Trait:
    """The traits of a piece of source; `methods` are those of the class that it stands in. With `is_open` it names
    something telling of a library under a name of its own."""
    found = NONE
    if _ROLE.search(text):
        found |= Trait.ROLE
    if _BODY.search(text):
        found |= Trait.BODY
    if _MODEL.search(text):
        found |= Trait.MODEL
    if not is_open and not _TELLING.search(text):
        return found | Trait.CALLS
    inner = [each for node in nodes for each in ast.walk(node)]
    names = {each.id for each in inner if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    names |= {each.arg for each in inner if isinstance(each, ast.arg)}
    rest = {each.kwarg.arg for each in inner if isinstance(each, ast.arguments) and each.kwarg is not None}
    rest -= {
        each.value.id
        for each in inner
        if isinstance(each, ast.Attribute | ast.Subscript) and isinstance(each.value, ast.Name)
    } | {each.id for each in inner if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    stored = {
        each.attr for each in inner if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
    }
    own = Own(frozenset(names), frozenset(rest), methods - stored)
    called = {id(each.func) for each in inner if isinstance(each, ast.Call)}
    read_only = _only_read(inner)
    for each in inner:
        match each:
            case ast.Call():
                found |= _of_call(each, own, kind_of)
            case ast.Attribute():
                found |= _of_attribute(each, id(each) in called or id(each) in read_only)
            case ast.Name(id=name):
                kind = None if name in own.names else kind_of(name)
                found |= _of_name(name, kind, id(each) in called)
            case ast.arg(arg="llm"):
                found |= Trait.VLLM
            case ast.Constant(value=str() as word) if len(word) < 40 and id(each) not in read_only:
                if word == "messages":
                    found |= Trait.MESSAGES
                if word in _SOUGHT:
                    found |= Trait.METHOD_NAME
            case ast.keyword(arg="messages"):
                found |= Trait.MESSAGES | Trait.KEYWORD
    return found


def _only_read(nodes: list[ast.AST]) -> set[int]:
    """Constants that look something up and name no member of a new dict; attributes that are not handed on."""
    found: set[int] = set()
    for each in nodes:
        if isinstance(each, ast.Subscript):
            found.add(id(each.value))
            if isinstance(each.ctx, ast.Load):
                found.add(id(each.slice))
        elif isinstance(each, ast.Attribute | ast.FormattedValue):
            found.add(id(each.value))
        elif isinstance(each, ast.Compare):
            sides = [each.left, *each.comparators]
            found |= {id(side) for side in sides}
            found |= {id(one) for side in sides if isinstance(side, ast.Tuple | ast.Set) for one in side.elts}
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "get":
            found |= {id(argument) for argument in each.args[:1]}
    return found


def _of_name(name: str, kind: str | None, is_called: bool) -> Trait:
    """What a name says: its own, or the full one of what it imports."""
    if kind in _OF_PROJECT:
        return NONE
    last = name if kind is None else kind.rpartition(".")[2]
    found = NONE
    if _PROMPT_TEMPLATE.search(last) or (_SURE.match(last) and (is_called or kind is not None)):
        found |= Trait.SENDS
    if last in _TEMPLATES:
        found |= Trait.TEMPLATE
    if name == "llm" or (kind or "").startswith("vllm"):
        found |= Trait.VLLM
    if kind is not None:
        found |= Trait.METHOD if last in _BY_NAME else NONE
        found |= Trait.POSTING if last in _POSTS else NONE
        found |= Trait.HELD if last in _INVOKES | _GENERATES else NONE
    return found


def _of_attribute(node: ast.Attribute, is_used_here: bool) -> Trait:
    """What an attribute says by its name; less where it is called at once, or only looked into."""
    word = node.attr
    if _SURE.match(word) or _PROMPT_TEMPLATE.search(word):
        return Trait.SENDS
    found = Trait.TEMPLATE if word in _TEMPLATES else NONE
    if word == "llm":
        found |= Trait.VLLM
    if is_used_here:
        return found
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else None
    if word in _BY_NAME and (owner in _CLIENT_PARTS or (owner is None and word in _SOUGHT)):
        found |= Trait.METHOD
    is_client = _CLIENT.search(ast.unparse(node.value)) is not None
    if word in _POSTS and is_client:
        found |= Trait.POSTING
    if word in _INVOKES | _GENERATES and (is_client or word in _SOUGHT):
        found |= Trait.HELD | Trait.FILLS
    return found


def _of_call(node: ast.Call, own: "Own", kind_of: KindOf) -> Trait:
    """What a call may be, by its callee and the names of its arguments."""
    function = node.func
    root: ast.expr = function
    is_plain = True
    while isinstance(root, ast.Attribute | ast.Call):
        is_plain = is_plain and not isinstance(root, ast.Call)
        root = root.value if isinstance(root, ast.Attribute) else root.func
    kind = kind_of(root.id) if isinstance(root, ast.Name) and root.id not in own.names else None
    if kind == "project" and isinstance(function, ast.Name):
        return NONE
    if _is_own_method(function, own) or (kind == "module" and _is_of_module(function, kind_of)):
        return NONE
    if isinstance(root, ast.Constant | ast.JoinedStr | ast.List | ast.ListComp):
        return NONE
    builtin = (
        isinstance(root, ast.Name) and root.id in _BUILTINS and root.id not in own.names and kind is None
    )
    exact = builtin or (kind is not None and kind not in _OF_PROJECT)
    last = function.attr if isinstance(function, ast.Attribute) else ""
    if isinstance(function, ast.Name):
        last = kind.rpartition(".")[2] if kind is not None and exact else function.id
    named = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
    opened = _opened(node, own)
    found = NONE
    if last == "getattr" and len(node.args) > 1:
        words = [each.value for each in ast.walk(node.args[1]) if isinstance(each, ast.Constant)]
        for word in words:
            if isinstance(word, str):
                found |= _of_attribute(ast.Attribute(node.args[0], word, ast.Load()), False)
        found |= Trait.SEEKS if not words else NONE
    if last in _POSTS and (named & _BODIES or opened):
        found |= Trait.POSTED
    if last in _HANDS_ON:
        exact = False
        found |= Trait.CALLS
    elif is_plain and ((builtin and last != "dict") or (kind is not None and is_of_python(kind))):
        return found
    found |= opened
    if "messages" in named:
        found |= Trait.LISTED
    if not exact and named & (_PIECES | _BODIES):
        found |= Trait.NAMED
    if (last in _BY_NAME or last in _GENERATES) and (named & _PIECES or opened):
        found |= Trait.SENDS
    if last in _GENERATES:
        found |= Trait.GENERATED
    if node.args and not exact and not isinstance(function, ast.Attribute):
        found |= Trait.CALLS
    if not isinstance(function, ast.Attribute):
        return found
    if last in _FILLS and not exact:
        found |= Trait.FILLS
    if last in _INVOKES and node.args and not _is_no_list(node.args[0], own, kind_of):
        found |= Trait.INVOKED
    if last in _ASKS and node.args and (not exact or _MODEL.search(ast.unparse(function.value))):
        found |= Trait.ASKED
    return found


def _opened(node: ast.Call, own: "Own") -> Trait:
    """How a call is open to arguments that do not stand there: not at all where all keys of its `**` do."""
    found = NONE
    for keyword in node.keywords:
        if keyword.arg is not None:
            continue
        value = keyword.value
        if isinstance(value, ast.Name) and value.id in own.rest:
            found |= Trait.HANDED
        elif not isinstance(value, ast.Dict) or any(_may_be_piece(key) for key in value.keys):
            found |= Trait.OPENED
    return found


def _may_be_piece(key: ast.expr | None) -> bool:
    return not isinstance(key, ast.Constant) or key.value in _PIECES | _BODIES


def _is_no_list(node: ast.expr, own: "Own", kind_of: KindOf) -> bool:
    """True for an argument that is surely no list of messages."""
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.Dict | ast.Lambda | ast.Compare):
        return True
    return isinstance(node, ast.Name) and node.id not in own.names and kind_of(node.id) is not None


def _is_of_module(function: ast.expr, kind_of: KindOf) -> bool:
    """True for a function or class of a module of the project."""
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and kind_of(f"{function.value.id}.{function.attr}") == "project"
    )


def _is_own_method(function: ast.expr, own: "Own") -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in own.methods
        and isinstance(function.value, ast.Name)
        and function.value.id in ("self", "cls")
    )
