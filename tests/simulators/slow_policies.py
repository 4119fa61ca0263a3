"""Slow, obvious twins of the policies: lists and dicts, every choice by looking at everything.

`use` is told (block, what, request's weight, next use) leaf first; `evict` is given how many to name and a
predicate that says which entries may go; `forget` is told of entries lost in another way.
"""

from collections.abc import Callable

PINNED = 1 << 20
INSERTED, SERVED, REWRITTEN = range(3)
Use = tuple[object, int, int, int]
MayGo = Callable[[object], bool]


class Policy:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity

    def foresee(self, uses: list[Use]) -> None: ...

    def after(self) -> None: ...


class Fifo(Policy):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.order: list[object] = []

    def use(self, uses: list[Use]) -> None:
        self.order += [block for block, what, _, _ in uses if what == INSERTED]

    def evict(self, count: int, may_go: MayGo) -> list[object]:
        victims = [block for block in self.order if may_go(block)][:count]
        self.order = [block for block in self.order if block not in victims]
        return victims

    def forget(self, block: object) -> None:
        self.order.remove(block)


class Lru(Fifo):
    def use(self, uses: list[Use]) -> None:
        used = [block for block, *_ in uses]
        self.order = [block for block in self.order if block not in used] + used


class Ranked(Policy):
    """Least (rank, time of last touch) goes first."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.rank: dict[object, tuple[int, int]] = {}
        self.touches = 0
        self.floor = 0

    def new_rank(self, before: int | None, what: int, weight: int, next_use: int) -> int:
        raise AssertionError

    def use(self, uses: list[Use]) -> None:
        floor = self.floor
        for block, what, weight, next_use in uses:
            before = None if what == INSERTED else self.rank[block][0]
            self.touches += 1
            self.floor = floor
            self.rank[block] = (self.new_rank(before, what, weight, next_use), self.touches)

    def evict(self, count: int, may_go: MayGo) -> list[object]:
        victims = sorted((block for block in self.rank if may_go(block)), key=self.rank.__getitem__)[:count]
        for block in victims:
            self.floor = self.rank.pop(block)[0]
        return victims

    def forget(self, block: object) -> None:
        del self.rank[block]


class Lfu(Ranked):
    def new_rank(self, before: int | None, what: int, weight: int, next_use: int) -> int:
        return 1 if before is None else before + (what == SERVED)


class SizeAware(Ranked):
    def new_rank(self, before: int | None, what: int, weight: int, next_use: int) -> int:
        return max(self.floor + weight, before or 0)


class Priority(Ranked):
    pins_broken = 0

    def evict(self, count: int, may_go: MayGo) -> list[object]:
        before = dict(self.rank)
        victims = super().evict(count, may_go)
        self.pins_broken += sum(before[block][0] >= PINNED for block in victims)
        return victims

    def new_rank(self, before: int | None, what: int, weight: int, next_use: int) -> int:
        return max(weight, before or 0)


class Belady(Ranked):
    def new_rank(self, before: int | None, what: int, weight: int, next_use: int) -> int:
        return -next_use


class S3Fifo(Policy):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.small: list[object] = []
        self.main: list[object] = []
        self.served: dict[object, int] = {}
        self.given_up: list[object] = []
        """Everything ever given up from the small queue, in order."""
        self.ghosts: dict[object, int] = {}

    def target(self) -> int:
        return max(1, self.capacity // 10)

    def use(self, uses: list[Use]) -> None:
        for block, what, _, _ in uses:
            if what == INSERTED:
                self.served[block] = 0
                at = self.ghosts.pop(block, None)
                recent = at is not None and len(self.given_up) - at < self.capacity - self.target()
                (self.main if recent else self.small).append(block)
            elif what == SERVED:
                self.served[block] = min(3, self.served[block] + 1)

    def evict(self, count: int, may_go: MayGo) -> list[object]:
        victims: list[object] = []
        while len(victims) < count:
            small = [block for block in self.small if may_go(block)]
            main = [block for block in self.main if may_go(block)]
            if small and (len(self.small) > self.target() or not main):
                block = small[0]
                self.small.remove(block)
                if self.served[block] > 1:
                    self.served[block] = 0
                    self.main.append(block)
                else:
                    self.ghosts[block] = len(self.given_up)
                    self.given_up.append(block)
                    victims.append(block)
            elif main:
                block = main[0]
                self.main.remove(block)
                if self.served[block] > 0:
                    self.served[block] -= 1
                    self.main.append(block)
                else:
                    victims.append(block)
            else:
                break
        return victims

    def forget(self, block: object) -> None:
        (self.small if block in self.small else self.main).remove(block)


class Arc(Policy):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.once: list[object] = []
        self.often: list[object] = []
        self.once_ghosts: list[object] = []
        self.often_ghosts: list[object] = []
        self.target = 0.0
        self.remembered: set[object] = set()

    def foresee(self, uses: list[Use]) -> None:
        self.remembered = set()
        for block, what, _, _ in uses:
            if what != INSERTED:
                continue
            once, often = len(self.once_ghosts), len(self.often_ghosts)
            if block in self.once_ghosts:
                self.target = min(float(self.capacity), self.target + max(1.0, often / once))
                self.once_ghosts.remove(block)
            elif block in self.often_ghosts:
                self.target = max(0.0, self.target - max(1.0, once / often))
                self.often_ghosts.remove(block)
            else:
                continue
            self.remembered.add(block)

    def use(self, uses: list[Use]) -> None:
        for block, what, _, _ in uses:
            if what == INSERTED:
                (self.often if block in self.remembered else self.once).append(block)
                continue
            home = self.once if block in self.once else self.often
            home.remove(block)
            (self.often if what == SERVED else home).append(block)

    def evict(self, count: int, may_go: MayGo) -> list[object]:
        victims: list[object] = []
        while len(victims) < count:
            once = [block for block in self.once if may_go(block)]
            often = [block for block in self.often if may_go(block)]
            if once and (len(self.once) > self.target or not often):
                home, ghosts, block = self.once, self.once_ghosts, once[0]
            elif often:
                home, ghosts, block = self.often, self.often_ghosts, often[0]
            else:
                break
            home.remove(block)
            for memory in (self.once_ghosts, self.often_ghosts):
                if block in memory:
                    memory.remove(block)
            ghosts.append(block)
            victims.append(block)
        return victims

    def after(self) -> None:
        while self.once_ghosts and len(self.once) + len(self.once_ghosts) > self.capacity:
            self.once_ghosts.pop(0)
        held = len(self.once) + len(self.often)
        while self.often_ghosts and held + len(self.once_ghosts) + len(self.often_ghosts) > 2 * self.capacity:
            self.often_ghosts.pop(0)

    def forget(self, block: object) -> None:
        (self.once if block in self.once else self.often).remove(block)


SLOW_POLICIES: dict[str, type] = {
    "lru": Lru,
    "fifo": Fifo,
    "lfu": Lfu,
    "size-aware": SizeAware,
    "priority": Priority,
    "s3-fifo": S3Fifo,
    "arc": Arc,
    "belady": Belady,
}
