"""A prompt template as one ordered list of parts: what every front end gives and every template rule reads.

A front end (Jinja2, Python source, Handlebars, prompty, request bodies …) turns a file into `Prompt`s. A
prompt is a flat list of parts in the order in which they reach the model: text that never changes, values
that are filled in, and cache markers. Control flow is not nested: a part inside `{% if %}` or `{% for %}`
carries the conditions and loops around it as `guards`, outermost first. Included and imported text is in
place, so a part may stand in another file than the prompt's own.

    Current time: {{ now() }}          Text("Current time: "), Value("now()", calls=("now",)), Text("\\n")
    {% if admin %}Be brief.{% endif %} Text("Be brief.", guards=(Condition("admin"),))
    {% for d in docs %}{{ d }}{% endfor %}   Value("d", names=("docs",), guards=(Loop("docs"),))

Names are resolved by the front end: a loop variable, a `set` variable or a Python local is reported under
the name of what it was computed from, and a value that is constant is a `Text`.
"""

from dataclasses import dataclass
from enum import StrEnum

from analyzers.findings import Edit


class Scope(StrEnum):
    """The widest group within which a value stays the same, widest first."""

    GLOBAL = "global"
    RELEASE = "release"
    DAY = "day"
    TENANT = "tenant"
    USER = "user"
    SESSION = "session"
    TURN = "turn"
    REQUEST = "request"

    @property
    def rank(self) -> int:
        """0 for a value that never changes, rising with how often it does."""
        return _SCOPE_RANKS[self]


_SCOPE_RANKS = {scope: rank for rank, scope in enumerate(Scope)}


class Cause(StrEnum):
    """Why a value changes, as far as the source shows; each has its rule."""

    CONSTANT = "constant"
    CLOCK = "clock"
    DATE = "date"
    RANDOM_ID = "random-id"
    COUNTER = "counter"
    ENVIRONMENT = "environment"
    IDENTITY = "identity"
    RETRIEVED = "retrieved"
    USER_INPUT = "user-input"
    RANDOM_CHOICE = "random-choice"
    PARAMETER = "parameter"
    CONVERSATION = "conversation"
    TOOLS = "tools"
    SPECIAL_TOKEN = "special-token"
    UNORDERED = "unordered"
    UNSORTED_JSON = "unsorted-json"
    SALTED_HASH = "salted-hash"
    HISTORY_WINDOW = "history-window"
    IMAGE_REENCODED = "image-reencoded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Span:
    """The characters [start, end) of a file, from 0, and the same as lines and columns, from 1."""

    path: str
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Condition:
    """An `if` around a part. `names` and `calls` are those of the test; `arm` tells the branches apart."""

    test: str
    span: Span
    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    arm: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` around a part. `names` and `calls` are those of what is iterated."""

    over: str
    span: Span
    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


Guard = Condition | Loop


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a request a part goes, where the front end knows: `section` is tools, system or messages,
    `path` the JSON path (`messages[0].content`), `role` the message's role."""

    section: str | None = None
    role: str | None = None
    path: str | None = None


ANYWHERE = Place()


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is the same in every rendering that reaches it."""

    text: str
    span: Span
    guards: tuple[Guard, ...] = ()
    place: Place = ANYWHERE


@dataclass(frozen=True, slots=True)
class Value:
    """Something filled in. `expression` is its source, `names` the dotted names it reads (`user.name`),
    `filters` the filters applied to it in order. `calls` are the calls it makes with their constant arguments
    and what is chained to them (`datetime.now().strftime('%Y-%m-%d')`); the function is what stands before the
    first parenthesis.

    A front end that knows more sets `cause` (a taint analysis) or `scope` (an annotation by hand); else both
    are None and `analyzers.templates.volatility` judges by names, calls and filters. `origin` is where the
    value was made when that is not where it is used. `repair` is an edit of the source that is safe to apply and
    takes the cause away (`sort_keys=True`, `sorted(…)`).
    """

    expression: str
    span: Span
    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    place: Place = ANYWHERE
    cause: Cause | None = None
    scope: Scope | None = None
    origin: Span | None = None
    repair: Edit | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache marker (cache_control, cachePoint, prompt_cache_breakpoint): what stands before it is cached.

    `ttl` as written (`5m`, `1h`), None for the provider's default. `on` is the type of the block that
    carries it (text, image, thinking, tool_result, tool, point for a marker that is a block of its own);
    `block_text` that block's own text where it is a text block and the text is known.
    """

    span: Span
    on: str
    ttl: str | None = None
    block_text: str | None = None
    guards: tuple[Guard, ...] = ()
    place: Place = ANYWHERE


Part = Text | Value | Marker


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the request beside the prompt (`tool_choice`, `model`, `thinking`), by its dotted name.

    `names` and `calls` are those that its value reads, as for Value; both are empty for a constant.
    """

    name: str
    expression: str
    span: Span
    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dead:
    """Text of the source that never reaches the model: an unused macro or variable, a branch never taken."""

    what: str
    span: Span


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of the source, without its delimiters, for annotations and suppressions."""

    text: str
    span: Span
    alone: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of a file: `kind` names the front end (`jinja`, `chat-template`, `python`, `request` …),
    `name` tells the prompts of one file apart (a call site, a key, a record), `path` is the file.

    `parts` are in the order in which they reach the model, with `order` saying which order was assumed where
    the source itself does not fix it. `model` and `provider` are those named in the source. `movable` says
    that the source is a template whose text a fix may edit in place. `template` is the source of a chat
    template, which can be rendered.
    """

    path: str
    kind: str
    parts: tuple[Part, ...]
    name: str = ""
    model: str | None = None
    provider: str | None = None
    order: str = "as written"
    movable: bool = False
    template: str | None = None
    version: str | None = None
    parameters: tuple[Parameter, ...] = ()
    dead: tuple[Dead, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a part of one, that could not be read: shown with its place, and the run ends with 2."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A file as read: its decoded text, its prompts and comments, and what could not be read of it.

    `text` has `\\n` line ends only; `windows_lines` of the `line_count` line ends of the file were others.
    """

    path: str
    text: str
    prompts: tuple[Prompt, ...] = ()
    comments: tuple[Comment, ...] = ()
    problems: tuple[Problem, ...] = ()
    had_bom: bool = False
    windows_lines: int = 0
    line_count: int = 0


class LineIndex:
    """Offsets of a text to lines and columns; build once a file."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of the character at the offset."""
        from bisect import bisect_right

        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int = 1) -> int:
        """The offset of a line and column, both from 1."""
        return self._starts[line - 1] + column - 1

    def span(self, start: int, end: int) -> Span:
        """The span of the characters [start, end)."""
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Span(self.path, start, end, line, column, end_line, end_column)
