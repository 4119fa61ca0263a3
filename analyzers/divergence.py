"""What the comparison of a request with the earlier one it should have continued can say.

A `Difference` is one place, a `Divergence` all places of one request, a `Slot` what the same place does over the
whole log. They hold places and values of prompts; reports quote values only when asked to.
"""

from dataclasses import dataclass
from enum import StrEnum


class Change(StrEnum):
    """What happened to a place, by structure; what a changed value is (a clock …) is its `ValueKind`."""

    TEXT = "text"
    """The text of one field differs."""
    WHITE_SPACE = "white space"
    UNICODE_FORM = "Unicode form"
    LINE_ENDS = "line ends"
    KEY_ORDER = "key order"
    """Equal as JSON, keys in another order or white space between tokens."""
    TOOLS_REORDERED = "tools reordered"
    TOOLS_ADDED = "tools added"
    TOOLS_REMOVED = "tools removed"
    TOOL_CHANGED = "tool changed"
    PASSAGES_REORDERED = "passages reordered"
    """The same lines or blocks of one field in another order."""
    SCHEMA = "schema"
    MESSAGES_DROPPED = "messages dropped"
    """The oldest messages are gone, what follows them is equal: `shift` says how many."""
    MESSAGES_REMOVED = "messages removed"
    """Messages are gone from further inside."""
    MESSAGES_INSERTED = "messages inserted"
    COMPACTION = "compaction"
    """Several messages were replaced by fewer, shorter ones."""
    RESULT_CLEARED = "result cleared"
    """A tool result was replaced by something much shorter."""
    TRUNCATED = "truncated"
    """A text was cut: one value is the beginning of the other."""
    BLOCK_MOVED = "block moved"
    """A block is gone from an old message and stands in a newer one."""
    BLOCK_REMOVED = "block removed"
    BLOCK_ADDED = "block added"
    IMAGE_REPLACED = "image replaced"
    ARGUMENTS = "arguments"
    """The arguments of a tool call, equal as JSON, in another form."""
    REASONING_STRIPPED = "reasoning stripped"
    ROLE = "role"
    SYSTEM_MOVED = "system moved"
    RETOKENISED = "retokenised"
    """Other token ids for the same text."""
    DOUBLE_BOS = "double BOS"


class ValueKind(StrEnum):
    """What the values of a text slot look like. A pattern only names a slot; change finds it."""

    CLOCK = "clock"
    DATE = "date"
    RANDOM_ID = "random id"
    COUNTER = "counter"
    ENVIRONMENT = "environment"
    IDENTITY = "identity"
    RETRIEVED = "retrieved text"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Value:
    """Where a changed value stands in one rendered part: characters [start, end) of segment `segment`.

    Widened to whole words, so that the same place has the same span whichever two requests are compared.
    `part` is the number of the rendered part in `TracedLog.parts`.
    """

    part: int
    segment: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which a request differs from the earlier one.

    `path` is the JSON path in the later request, `earlier_path` in the earlier one where it is another (or where
    the place is gone from the later request). `char_offset` counts from 0 to the first character that differs,
    inside the field that `path` names. `shift` counts messages dropped, inserted or removed, or tools. `moved_to`
    is the path at which a moved block reappears. `first_index` is the first differing index of a list.
    """

    change: Change
    path: str
    earlier_path: str | None = None
    char_offset: int | None = None
    before: Value | None = None
    after: Value | None = None
    shift: int = 0
    moved_to: str | None = None
    first_index: int | None = None
    names: tuple[str, ...] = ()
    """Names of the tools concerned."""
    section: str = ""
    """tools, schema, system, or the role of the message."""
    note: str = ""
    """What changed in a few words that hold no prompt text (`image -> text`, `1 character removed: U+000A`)."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A request that does not continue the earlier request whose content it shares.

    `request` and `against` are rows of the trace. `common` is the token offset of the first difference;
    `lost` tokens stood in the earlier request too, behind the difference. `differences` stand in rendered order:
    the first one breaks the prefix, the others would if it were gone. `equal_again` are the JSON paths of whole
    parts behind the first difference that the earlier request has too.
    """

    request: int
    against: int
    common: int
    lost: int
    differences: tuple[Difference, ...]
    equal_again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that varies over the log, and what it did.

    Its key is the route (or the application inferred from shared content), the JSON path with message indices
    left out, and the stable text to its left. `divergences` are those whose differences include this slot;
    `first_in` counts those that it breaks first. `values` are the distinct values in order of appearance.
    `spans` says where each distinct rendered part holds the slot: part number -> values in it.
    `scope` is the widest group within which the value stays the same; None where no group explains it.
    """

    number: int
    app: str
    change: Change
    kind: ValueKind | None
    section: str
    path: str
    anchor: str
    divergences: tuple[Divergence, ...]
    differences: tuple[Difference, ...]
    """The difference of each divergence at this slot."""
    values: tuple[str, ...]
    spans: dict[int, tuple[Value, ...]]
    scope: str | None = None
    first_in: int = 0

    @property
    def requests(self) -> tuple[int, ...]:
        """Rows of the requests that differ here from what they should have continued, in time order."""
        return tuple(d.request for d in self.divergences)
