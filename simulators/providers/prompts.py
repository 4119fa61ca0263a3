"""What a provider's cache sees of each request: where its blocks end, where markers stand, what must be equal.

Depths are token depths in the prefix tree. Two requests share the prefix of a depth when the same node of the
tree holds it, so (node, depth) names a prefix.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

import msgspec

from analyzers.request import PartKind, Request
from analyzers.trace import NO_TIME, Trace
from simulators.logged_usage import LARGEST_SCALE, LEAST_SCALE, logged_reads
from simulators.providers.rules import Available, CacheRules, ImplicitMarker, Section, lifetime_seconds

Prefix = tuple[int, int]
Key = tuple[object, ...]
Keys = tuple[Key, Key, Key]

_PATH = re.compile(r"[^.\[]*(?:\.\w+)?(?:\[(\d+)\])?")
_SECTION_OF_FIELD = {
    "tools": Section.TOOLS,
    "toolConfig": Section.TOOLS,
    "response_format": Section.TOOLS,
    "output_format": Section.TOOLS,
    "system": Section.SYSTEM,
    "instructions": Section.SYSTEM,
    "systemInstruction": Section.SYSTEM,
}
_SECTIONS = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache marker at this depth; its lifetime in seconds."""

    depth: int
    ttl_s: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as the cache sees it.

    `start_ns` is when it looks, `visible_ns` when what it writes can be read. `nodes` is its path in the tree,
    root first, `node_ends` their depths. `block_ends`, `input_ends` (user and tool messages) ascend. `keys`:
    per section what has to be equal besides the text. `cache_object` names the object that the request reads
    (None: none). `scale` turns the trace's tokens into the provider's.
    `follows_log`: text and markers are those the log was made with, so its figures say how long entries are. Logged
    figures are None where the log gives none.
    """

    row: int
    start_ns: int
    visible_ns: int
    tokens: int
    nodes: Sequence[int]
    node_ends: Sequence[int]
    kept_nodes: Sequence[int]
    block_ends: Sequence[int]
    input_ends: Sequence[int]
    markers: Sequence[Marker]
    section_ends: tuple[int, int]
    keys: Keys
    group: Key
    cache_object: str | None
    scale: float
    follows_log: bool
    has_time: bool
    logged_prompt: int | None
    logged_read: int | None
    logged_written: int | None

    @property
    def is_whole(self) -> bool:
        """Whether the log holds about as much text as the provider counted."""
        return LEAST_SCALE < self.scale < LARGEST_SCALE

    def at(self, depth: int) -> float:
        """This depth in the provider's count: scaled, or measured from the end where the log lacks the head."""
        if self.logged_prompt is not None and not self.is_whole:
            return max(self.logged_prompt - (self.tokens - depth), 0)
        return depth * self.scale

    def prefix(self, depth: int) -> Prefix:
        return self.nodes[bisect_left(self.node_ends, depth)], depth

    def key_at(self, depth: int) -> Key:
        """What must be equal for the prefix that ends at this depth to be the same entry."""
        if depth <= self.section_ends[0]:
            return self.keys[0]
        return self.keys[1] if depth <= self.section_ends[1] else self.keys[2]


MarkerPolicy = Callable[[int, Sequence[int], Sequence[Marker]], Sequence[Marker]]
"""Changes the markers of a request: (row, its block ends, the markers it has) -> the markers to play."""


class PromptMaker:
    """Makes the `Prompt` of each row of a trace under a provider's rules.

    `requests` are those of the trace, in its order; without them parameters, roles and routing keys are not
    known and take no part. `as_logged`: the trace holds the prompts that the logged figures are about.
    """

    def __init__(
        self, trace: Trace, requests: Sequence[Request] | None = None, as_logged: bool = True
    ) -> None:
        if requests is not None and len(requests) != len(trace):
            raise ValueError(f"{len(requests)} requests for a trace of {len(trace)}")
        self._trace = trace
        self._requests = requests
        self._as_logged = as_logged
        self._places = [_place(path) for path in trace.paths]
        self._parents = trace.tree.parent.tolist()
        self._ends = trace.tree.depth_end.tolist()
        self._reads = logged_reads(trace)
        self._is_input: dict[int, bool] = {}
        self._clock = 0
        self.rows_without_time = 0
        self.rows_with_assumed_marker = 0

    def make(self, row: int, rules: CacheRules, markers: MarkerPolicy | None = None) -> Prompt:
        """The prompt of this row. Call it for the rows in order: rows without a time follow the one before."""
        table = self._trace.requests
        start = int(table.time_ns[row])
        timed = start != NO_TIME
        if not timed:
            self.rows_without_time += 1
            start = self._clock
        self._clock = max(self._clock, start)
        tokens = int(table.prompt_tokens[row])
        nodes, node_ends = self._path(int(table.leaf[row]))
        kept, _ = self._path(int(table.cached_leaf[row]))
        block_ends = self._trace.boundaries.of(row).tolist()
        places = [self._places[path] for path in self._trace.boundary_paths.of(row).tolist()]
        logged = [
            _known(column[row]) for column in (table.usage_prompt, table.usage_read, table.usage_written)
        ]
        request = self._requests[row] if self._requests is not None else None
        inputs = self._input_ends(_message_ends(block_ends, places), request)
        played: Sequence[Marker] = self._markers(row, block_ends, inputs, rules, request, logged[1:])
        logged_markers = played
        if markers is not None:
            played = markers(row, block_ends, played)
        return Prompt(
            row=row,
            start_ns=start,
            visible_ns=self._visible(row, start, rules.available),
            tokens=tokens,
            nodes=nodes,
            node_ends=node_ends,
            kept_nodes=kept,
            block_ends=block_ends,
            input_ends=inputs,
            markers=played,
            section_ends=_section_ends(block_ends, places),
            keys=_keys(request, rules),
            group=_group(table.model.of(row), request, rules),
            cache_object=_cache_object(request),
            scale=logged[0] / tokens if logged[0] and tokens else 1.0,
            follows_log=self._as_logged and [m.depth for m in played] == [m.depth for m in logged_markers],
            has_time=timed,
            logged_prompt=logged[0],
            logged_read=logged[1],
            logged_written=logged[2],
        )

    def _path(self, leaf: int) -> tuple[list[int], list[int]]:
        nodes = []
        while leaf >= 0:
            nodes.append(leaf)
            leaf = self._parents[leaf]
        nodes.reverse()
        return nodes, [self._ends[node] for node in nodes]

    def _input_ends(self, ends: Mapping[int, int], request: Request | None) -> list[int]:
        """Depths at which user and tool messages end; every message's where the roles are not known."""
        if request is None:
            return list(ends.values())
        messages = [part for part in request.parts if part.kind is PartKind.MESSAGE]
        found = []
        for index, end in ends.items():
            part = messages[index] if index < len(messages) else None
            if part is not None and part.number not in self._is_input:
                self._is_input[part.number] = _is_input(part.raw)
            if part is not None and self._is_input[part.number]:
                found.append(end)
        return found

    def _visible(self, row: int, start: int, available: Available) -> int:
        table = self._trace.requests
        known = [int(table.first_token_ns[row]), int(table.end_ns[row])]
        wanted = {Available.START: [], Available.FIRST_TOKEN: known, Available.END: known[::-1]}[available]
        # Without either time the writer counts as done before the next request starts.
        return next((moment for moment in wanted if moment != NO_TIME), start)

    def _markers(
        self,
        row: int,
        block_ends: Sequence[int],
        input_ends: Sequence[int],
        rules: CacheRules,
        request: Request | None,
        logged: Sequence[int | None],
    ) -> list[Marker]:
        depths = self._trace.markers.of(row).tolist()
        lifetimes = self._trace.marker_ttl_s.of(row).tolist()
        found = [
            Marker(depth, ttl if ttl > 0 else rules.default_lifetime)
            for depth, ttl in zip(depths, lifetimes, strict=True)
        ]
        last = found[-1].depth if found else 0
        if rules.implicit_marker is ImplicitMarker.NEWEST_INPUT and not _explicit_mode(request):
            if input_ends and input_ends[-1] > last:
                found.append(Marker(input_ends[-1], _option_ttl(request) or rules.default_lifetime))
        elif rules.implicit_marker is ImplicitMarker.ON_REQUEST and block_ends and block_ends[-1] > last:
            asked = request.parameter("cache_control") if request else None
            # Session logs keep no markers; figures that only a marker can cause show that there was one.
            seen = not found and any(logged)
            if asked or seen:
                self.rows_with_assumed_marker += bool(seen and not asked)
                ttl = lifetime_seconds(asked.get("ttl")) if isinstance(asked, dict) else None
                found.append(Marker(block_ends[-1], ttl or rules.default_lifetime))
        return found


@cache
def _place(path: str) -> tuple[Section, int | None]:
    """The section a JSON path lies in, and the index of its message."""
    match = _PATH.match(path)
    section = _SECTION_OF_FIELD.get(re.split(r"[.\[]", path, maxsplit=1)[0], Section.MESSAGES)
    index = match[1] if match and section is Section.MESSAGES else None
    return section, None if index is None else int(index)


def _section_ends(block_ends: Sequence[int], places: Sequence[tuple[Section, int | None]]) -> tuple[int, int]:
    tools = system = 0
    for depth, (section, _) in zip(block_ends, places, strict=True):
        if section is Section.TOOLS:
            tools = depth
        if section is not Section.MESSAGES:
            system = depth
    return tools, system


def _message_ends(block_ends: Sequence[int], places: Sequence[tuple[Section, int | None]]) -> dict[int, int]:
    ends: dict[int, int] = {}
    for depth, (section, index) in zip(block_ends, places, strict=True):
        if section is Section.MESSAGES and index is not None:
            ends[index] = depth
    return ends


def _is_input(raw: bytes) -> bool:
    """Whether a message is the user's or a tool's."""
    message = msgspec.json.decode(raw)
    if not isinstance(message, dict):
        return True
    role = message.get("role")
    return role in ("user", "tool") or (role is None and str(message.get("type")).endswith("_output"))


def _keys(request: Request | None, rules: CacheRules) -> Keys:
    if request is None or not rules.invalidates:
        return (), (), ()
    lost: dict[Section, list[object]] = {section: [] for section in _SECTIONS}
    for name, raw in request.parameters:
        for pattern, section in rules.invalidates.items():
            if fnmatchcase(name, pattern) or name.startswith(f"{pattern}."):
                lost[section].append((name, raw))
    tools = tuple(lost[Section.TOOLS])
    system = (*tools, *lost[Section.SYSTEM])
    return tools, system, (*system, *lost[Section.MESSAGES])


def _group(model: str | None, request: Request | None, rules: CacheRules) -> Key:
    key = request.identity.prompt_cache_key if request is not None and rules.routed_by_key else None
    return model, key


def _cache_object(request: Request | None) -> str | None:
    name = request.parameter("cachedContent") if request is not None else None
    return name if isinstance(name, str) else None


def _explicit_mode(request: Request | None) -> bool:
    options = request.parameter("prompt_cache_options") if request is not None else None
    mode = options.get("mode") if isinstance(options, dict) else None
    return mode == "explicit" or (
        request is not None and request.parameter("prompt_cache_options.mode") == "explicit"
    )


def _option_ttl(request: Request | None) -> int | None:
    options = request.parameter("prompt_cache_options") if request is not None else None
    return lifetime_seconds(options.get("ttl")) if isinstance(options, dict) else None


def _known(value: object) -> int | None:
    number = int(value)  # type: ignore[call-overload]
    return None if number < 0 else int(number)
