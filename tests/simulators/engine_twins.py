"""Slow, obvious models of two engines, written from their rules: what the compiled ones are checked against."""

import heapq
from dataclasses import dataclass, field
from itertools import count

from tests.simulators.random_logs import TokenLog


def vllm_hits(log: TokenLog, size: int, num_gpu_blocks: int, *, tail_to_front: bool) -> list[int]:
    """vLLM's block pool: a free list of block numbers, and for each prefix its copies in order of insertion."""
    free = list(range(num_gpu_blocks - 1))
    copies: dict[object, list[int]] = {}
    content: dict[int, object] = {}
    hits = []
    for r, prompt in enumerate(log.prompts):
        kept = log.kept(r)
        keys = [(log.namespaces[r], tuple(kept[: (k + 1) * size])) for k in range(len(kept) // size)]
        held = []
        for key in keys[: max(len(prompt) - 1, 0) // size]:
            if not copies.get(key):
                break
            held.append(copies[key][0])
        hits.append(len(held) * size)
        for block in held:
            free.remove(block)
        while len(held) * size < len(kept):
            block = free.pop(0)
            if block in content:
                copies[content.pop(block)].remove(block)
            held.append(block)
        for block, key in list(zip(held, keys, strict=False))[hits[-1] // size :]:
            content[block] = key
            copies.setdefault(key, []).append(block)
        partial = held[len(keys) :]
        free = partial + free if tail_to_front else free + partial
        free += reversed(held[: len(keys)])
    return hits


@dataclass(eq=False)
class _Node:
    key: list[int]
    parent: "_Node | None"
    time: int
    children: dict[tuple[int, ...], "_Node"] = field(default_factory=dict)
    locks: int = 0


class SglangTwin:
    """SGLang's radix cache over token lists, one root a namespace, evicting by a heap of its leaves."""

    def __init__(self, page: int, tokens: int) -> None:
        self.page, self.available = page, tokens // page * page
        self.clock = count()
        self.roots: dict[str, _Node] = {}

    def hits(self, log: TokenLog) -> list[int]:
        return [
            self._serve(prompt, log.outputs[r], self.roots.setdefault(log.namespaces[r], _Node([], None, -1)))
            for r, prompt in enumerate(log.prompts)
        ]

    def _serve(self, prompt: list[int], output: list[int], root: _Node) -> int:
        page = self.page
        node, hit = self._walk(root, self._whole_pages(prompt[:-1]))
        self._lock(node, 1)
        self._make_room(len(prompt) - hit + (page if page > 1 else 0))
        self.available -= -(-len(prompt) // page) * page - hit
        in_tree = hit
        if len(output) > 1:
            there = self._insert(root, self._whole_pages(prompt))
            self.available += max(0, there - hit)
            in_tree = len(prompt) // page * page
            inserted, _ = self._walk(root, self._whole_pages(prompt))
            self._lock(inserted, 1)
            self._lock(node, -1)
            node = inserted
            for position in range(len(prompt), len(prompt) + len(output) - 1):
                self._make_room(page)
                if position % page == 0:
                    self.available -= page
        kept = prompt + output[:-1]
        there = self._insert(root, self._whole_pages(kept))
        self.available += max(0, there - in_tree)
        self.available += page if len(kept) % page else 0
        self._lock(node, -1)
        return hit

    def _whole_pages(self, tokens: list[int]) -> list[int]:
        return tokens[: len(tokens) // self.page * self.page]

    def _walk(self, root: _Node, key: list[int]) -> tuple[_Node, int]:
        now, node, depth = next(self.clock), root, 0
        while depth < len(key):
            child = node.children.get(tuple(key[depth : depth + self.page]))
            if child is None:
                break
            child.time = now
            same = 0
            while same < min(len(child.key), len(key) - depth) and child.key[same] == key[depth + same]:
                same += 1
            same = same // self.page * self.page
            depth += same
            if same < len(child.key):
                return self._split(child, same), depth
            node = child
        return node, depth

    def _split(self, child: _Node, at: int) -> _Node:
        upper = _Node(child.key[:at], child.parent, next(self.clock), locks=child.locks)
        assert child.parent is not None
        child.parent.children[tuple(upper.key[: self.page])] = upper
        child.key, child.parent = child.key[at:], upper
        upper.children[tuple(child.key[: self.page])] = child
        return upper

    def _insert(self, root: _Node, key: list[int]) -> int:
        node, depth = self._walk(root, key)
        if depth < len(key):
            leaf = _Node(key[depth:], node, next(self.clock))
            node.children[tuple(leaf.key[: self.page])] = leaf
        return depth

    def _lock(self, node: _Node, step: int) -> None:
        while node.parent is not None:
            node.locks += step
            node = node.parent

    def _make_room(self, need: int) -> None:
        missing = need - self.available
        leaves = [(n.time, id(n), n) for n in self._evictable()]
        heapq.heapify(leaves)
        while missing > 0 and leaves:
            _, _, leaf = heapq.heappop(leaves)
            missing -= len(leaf.key)
            self.available += len(leaf.key)
            above = leaf.parent
            assert above is not None
            del above.children[tuple(leaf.key[: self.page])]
            if not above.children and above.locks == 0 and above.parent is not None:
                heapq.heappush(leaves, (above.time, id(above), above))

    def _evictable(self) -> list[_Node]:
        found, waiting = [], list(self.roots.values())
        while waiting:
            node = waiting.pop()
            waiting += node.children.values()
            if not node.children and node.locks == 0 and node.parent is not None:
                found.append(node)
        return found
