"""Any common prefix counts, in whole units: OpenAI before GPT-5.6, Gemini's implicit cache, DeepSeek, xAI, Kimi.

Each request touches its whole path in the prefix tree, so a node's last touch says whether its tokens are
still there; the hit ends at the first node on the path that is not.
"""

from heapq import heappop, heappush

from simulators.providers.prompts import Key, Prompt
from simulators.providers.rules import CacheRules
from simulators.providers.served import Served, Why


class BlockCache:
    """The last touch of every node, for each routing key."""

    def __init__(self, rules: CacheRules) -> None:
        self._rules = rules
        self._touched: dict[tuple[Key, Key], dict[int, int]] = {}
        self._pending: list[tuple[int, int, int, tuple[Key, Key], list[int]]] = []

    def serve(self, prompt: Prompt) -> Served:
        self._make_visible(prompt.start_ns)
        rules = self._rules
        group = (prompt.group, prompt.keys[0])
        touched = self._touched.setdefault(group, {})
        oldest = prompt.start_ns - rules.default_lifetime * 1_000_000_000
        depth, why = 0, Why.NOTHING_MORE
        for node, end in zip(prompt.nodes, prompt.node_ends, strict=True):
            touch = touched.get(node)
            if touch is None or touch < oldest:
                why = self._why(prompt, node, touch)
                break
            depth = end
        # At least the last token of a prompt is computed.
        tokens = round(prompt.at(min(depth, prompt.tokens - 1))) if depth else 0
        read = max(tokens, 0) // rules.unit_tokens * rules.unit_tokens
        if read < (rules.minimum_tokens or 0):
            why = Why.BELOW_MINIMUM if read else why
            read = 0
        nodes = prompt.kept_nodes if rules.caches_output else prompt.nodes
        heappush(self._pending, (prompt.visible_ns, prompt.row, prompt.start_ns, group, list(nodes)))
        return Served(read, {}, why, prompt.scale == 1.0)

    def _make_visible(self, now_ns: int) -> None:
        while self._pending and self._pending[0][0] <= now_ns:
            _, _, start, group, nodes = heappop(self._pending)
            touched = self._touched.setdefault(group, {})
            for node in nodes:
                touched[node] = max(touched.get(node, start), start)

    def _why(self, prompt: Prompt, node: int, touch: int | None) -> Why:
        if touch is not None:
            return Why.EXPIRED
        group = (prompt.group, prompt.keys[0])
        if any(node in nodes for _, _, _, writer, nodes in self._pending if writer == group):
            return Why.NOT_YET
        for other, nodes in self._touched.items():
            if other != group and node in nodes:
                same_route = other[0] == prompt.group
                return Why.PARAMETER if same_route else Why.ROUTING
        return Why.NOTHING_MORE
