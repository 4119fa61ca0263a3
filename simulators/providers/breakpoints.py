"""Entries end where a marker stood: Anthropic and its relatives, OpenAI from GPT-5.6 on, Qwen's explicit mode.

A request looks at the positions a marker may search, longest first, and reads the first live entry it finds.
It then writes an entry at each of its markers behind that. Written tokens between two markers are billed at
the lifetime of the later one, which for "longer lifetimes first" is the documented split at the last 1h marker.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from simulators.providers.prompts import Key, Marker, Prefix, Prompt
from simulators.providers.rules import CacheRules, ImplicitMarker
from simulators.providers.served import Served, Why


@dataclass(slots=True)
class _Entry:
    ttl_s: int
    touched_ns: int
    visible_ns: int
    logged_tokens: int | None
    """Its length as the provider counts it, where the log determines that."""

    def alive(self, now_ns: int) -> bool:
        return now_ns - self.touched_ns <= self.ttl_s * 1_000_000_000


class BreakpointCache:
    """Entries by prefix and by what else must be equal."""

    def __init__(self, rules: CacheRules) -> None:
        self._rules = rules
        self._entries: dict[Prefix, dict[tuple[Key, Key], _Entry]] = {}

    def serve(self, prompt: Prompt) -> Served:
        rules = self._rules
        if not prompt.markers:
            return Served(0, {}, Why.NO_MARKER)
        if rules.marker_limit is not None and len(prompt.markers) > rules.marker_limit:
            return Served(0, {}, Why.TOO_MANY_MARKERS)
        if rules.longer_first and _longer_after_shorter(prompt.markers):
            return Served(0, {}, Why.TTL_ORDER)
        positions = self._positions(prompt)
        hit = next((depth for depth in positions if self._readable(prompt, depth)), 0)
        why = self._why_not_more(prompt, hit, positions)
        minimum = rules.minimum_tokens or 0
        written_markers = [m for m in prompt.markers if m.depth > hit and prompt.at(m.depth) >= minimum]
        if not hit and not written_markers:
            why = Why.BELOW_MINIMUM
        read, exact = self._read_tokens(prompt, hit)
        written = _billed(prompt, read, written_markers)
        self._remember(prompt, hit, written_markers)
        return Served(read, written, why, exact)

    def _positions(self, prompt: Prompt) -> list[int]:
        """Depths at which an entry may be found, deepest first."""
        if self._rules.implicit_marker is ImplicitMarker.NEWEST_INPUT:
            candidates = sorted({*prompt.input_ends, *(m.depth for m in prompt.markers)}, reverse=True)
            return candidates[: self._rules.lookback_blocks]
        window = self._rules.lookback_blocks or len(prompt.block_ends)
        found: set[int] = set()
        for marker in prompt.markers:
            before = [depth for depth in prompt.block_ends if depth <= marker.depth]
            found.update(before[-window:])
            found.add(marker.depth)
        return sorted(found, reverse=True)

    def _entry(self, prompt: Prompt, depth: int) -> _Entry | None:
        entries = self._entries.get(prompt.prefix(depth))
        return None if entries is None else entries.get((prompt.group, prompt.key_at(depth)))

    def _readable(self, prompt: Prompt, depth: int) -> bool:
        entry = self._entry(prompt, depth)
        return entry is not None and entry.visible_ns <= prompt.start_ns and entry.alive(prompt.start_ns)

    def _why_not_more(self, prompt: Prompt, hit: int, positions: list[int]) -> Why:
        """The reason that the deepest cached prefix behind the hit was not read."""
        searched = set(positions)
        for depth in sorted({*prompt.block_ends, *searched}, reverse=True):
            if depth <= hit:
                break
            entries = self._entries.get(prompt.prefix(depth))
            if not entries:
                continue
            entry = entries.get((prompt.group, prompt.key_at(depth)))
            if entry is None:
                same_group = any(group == prompt.group for group, _ in entries)
                return Why.PARAMETER if same_group else Why.ROUTING
            if entry.visible_ns > prompt.start_ns:
                return Why.NOT_YET
            if not entry.alive(prompt.start_ns):
                return Why.EXPIRED
            if depth not in searched:
                by_blocks = self._rules.implicit_marker is not ImplicitMarker.NEWEST_INPUT
                return Why.LOOKBACK if by_blocks else Why.NOT_A_BREAKPOINT
        return Why.NOTHING_MORE

    def _read_tokens(self, prompt: Prompt, hit: int) -> tuple[int, bool]:
        if not hit:
            return 0, True
        entry = self._entry(prompt, hit)
        if entry is not None and entry.logged_tokens is not None:
            return entry.logged_tokens, True
        return round(prompt.at(hit)), prompt.scale == 1.0

    def _remember(self, prompt: Prompt, hit: int, written: list[Marker]) -> None:
        last = prompt.markers[-1].depth
        logged = None
        if prompt.follows_log and prompt.logged_read is not None and prompt.logged_written is not None:
            logged = (prompt.logged_read + prompt.logged_written) or None
        for marker in self._kept(prompt, hit, written):
            entry = self._entry(prompt, marker.depth)
            if entry is None or not entry.alive(prompt.start_ns):
                key = (prompt.group, prompt.key_at(marker.depth))
                entry = _Entry(marker.ttl_s, prompt.start_ns, prompt.visible_ns, None)
                self._entries.setdefault(prompt.prefix(marker.depth), {})[key] = entry
            elif self._rules.refresh_on_read:
                entry.touched_ns = prompt.start_ns
            if marker.depth == last and logged is not None:
                entry.logged_tokens = logged

    def _kept(self, prompt: Prompt, hit: int, written: list[Marker]) -> Iterator[Marker]:
        """The entry read, the markers inside it, and the markers written."""
        if hit and all(m.depth != hit for m in prompt.markers):
            yield Marker(hit, self._rules.default_lifetime)
        yield from (m for m in prompt.markers if m.depth <= hit)
        yield from written


def _longer_after_shorter(markers: Sequence[Marker]) -> bool:
    return any(later.ttl_s > earlier.ttl_s for earlier, later in pairwise(markers))


def _billed(prompt: Prompt, read: int, markers: list[Marker]) -> dict[int, int]:
    written: dict[int, int] = {}
    before = float(read)
    for marker in markers:
        end = prompt.at(marker.depth)
        written[marker.ttl_s] = written.get(marker.ttl_s, 0) + max(round(end) - round(before), 0)
        before = max(before, end)
    return written
