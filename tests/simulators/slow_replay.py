"""A slow, obvious twin of the replay: token lists in, dicts of entries, no tree, no numpy in the loop."""

import math
from dataclasses import dataclass, field

from simulators.replay_settings import ReplaySettings
from tests.simulators.slow_policies import INSERTED, REWRITTEN, SERVED, SLOW_POLICIES

Block = tuple[object, ...]
EVICTED, EXPIRED, NOT_READY, OTHER_REPLICA, INVALIDATED, FAILED = range(1, 7)


@dataclass
class Sent:
    """A request as the twin sees it; times in ns."""

    time: int
    prompt: list[int]
    kept_output: list[int]
    namespace: object = "all"
    output_tokens: int = 0
    first_token: int | None = None
    end: int | None = None
    weight: int = 0
    doomed: bool = False
    replica: int = 0
    """Where it is routed, unless the load decides."""

    def blocks(self, size: int) -> list[Block]:
        """Known blocks are their prefix; what stands in an output of unknown ids is shared with nobody."""
        ids: list[object] = [*self.prompt, *self.kept_output]
        ids += [(id(self), k) for k in range(self.tokens() - len(ids))]
        return [(self.namespace, *ids[: end * size]) for end in range(1, len(ids) // size + 1)]

    def tokens(self) -> int:
        """Tokens that enter the cache: the last sampled one does not."""
        return len(self.prompt) + max(self.output_tokens - 1, 0)


@dataclass
class Entry:
    ready: int
    expires: float
    uses: int = 1
    doomed: bool = False


@dataclass
class Findings:
    """Rows a request: hit blocks, lost blocks by cause, hits by tier, replica, ns waited; and totals."""

    hit: list[int] = field(default_factory=list)
    lost: list[dict[int, int]] = field(default_factory=list)
    tier_hits: list[list[int]] = field(default_factory=list)
    replica: list[int] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    moved_in: list[int] = field(default_factory=list)
    moved_out: list[int] = field(default_factory=list)
    reached: list[dict[tuple[int, int | None], int]] = field(default_factory=list)

    def count(self, what: str, by: int = 1) -> None:
        self.counted[what] = self.counted.get(what, 0) + by


class SlowReplay:
    """All caches. A place is (replica, tier), (None, tier) for a shared tier; tier 0 is in the policy's order, a
    lower one in that of its dict, oldest first."""

    def __init__(self, settings: ReplaySettings, sent: list[Sent], numbers: dict[Block, int]) -> None:
        self.settings, self.sent, self.numbers = settings, sent, numbers
        self.size = settings.block_size
        self.private = [tier for tier in settings.tiers if not tier.shared]
        self.shared = 1 + len(self.private) if len(self.private) < len(settings.tiers) else None
        self.replicas = range(settings.replicas.count)
        self.capacity = 1 << 40 if settings.capacity_blocks is None else settings.capacity_blocks
        self.places: dict[tuple[int | None, int], dict[Block, Entry]] = {
            (replica, tier): {} for replica in self.replicas for tier in range(1 + len(self.private))
        }
        if self.shared is not None:
            self.places[None, self.shared] = {}
        self.policy = {r: SLOW_POLICIES[settings.policy](self.capacity) for r in self.replicas}
        self.gone: dict[tuple[int | None, Block], int] = {}
        self.alive = dict.fromkeys(self.replicas, True)
        self.load = dict.fromkeys(self.replicas, 0.0)
        self.load_time = sent[0].time if sent else 0
        self.seen: set[Block] = set()
        self.found = Findings(
            moved_in=[0] * (1 + len(settings.tiers)), moved_out=[0] * (1 + len(settings.tiers))
        )
        self.in_use: set[Block] = set()
        self.now = 0

    def locate(self, replica: int, block: Block) -> tuple[int | None, int] | None:
        for tier in range(1 + len(self.private)):
            if block in self.places[replica, tier]:
                return replica, tier
        if self.shared is not None and block in self.places[None, self.shared]:
            return None, self.shared
        return None

    def entry(self, place: tuple[int | None, int], block: Block) -> Entry:
        return self.places[place][block]

    def lose(self, place: tuple[int | None, int], block: Block, cause: int) -> None:
        del self.places[place][block]
        if place[1] == 0:
            self.policy[place[0]].forget(block)
        self.gone[place[0], block] = cause

    def may_go(self, place: tuple[int | None, int], block: Block) -> bool:
        return block not in self.in_use and self.entry(place, block).ready <= self.now

    def move_ns(self, tier: int) -> float:
        rate = self.settings.tiers[tier - 1].bytes_per_s
        return 0.0 if rate is None else 1e9 * (self.settings.bytes_per_token or 0) * self.size / rate

    def move_down(self, place: tuple[int | None, int], block: Block, entry: Entry) -> None:
        """`entry` has just left `place` for want of room."""
        replica, tier = place
        self.gone[replica, block] = EVICTED
        below = (replica, tier + 1) if tier + 1 <= len(self.private) else (None, tier + 1)
        if replica is None or below not in self.places:
            self.found.count("evicted")
            return
        room = self.places[below]
        if block in room:
            room[block] = room.pop(block)
            return
        displaced = None
        if len(room) >= self.settings.tiers[tier].capacity_blocks:
            displaced = next((each for each in room if self.may_go(below, each)), None)
            if displaced is None:
                self.found.count("evicted")
                self.gone[below[0], block] = EVICTED
                return
        pushed_out = None if displaced is None else room.pop(displaced)
        room[block] = Entry(self.now + int(self.move_ns(tier + 1)), entry.expires, entry.uses)
        self.found.moved_in[tier + 1] += 1
        if displaced is not None and pushed_out is not None:
            self.move_down(below, displaced, pushed_out)

    def purge(self) -> None:
        for place, room in self.places.items():
            for block in [each for each, entry in room.items() if entry.expires < self.now]:
                doomed = room[block].doomed
                self.found.count("failed_writes" if doomed else "expired")
                self.lose(place, block, FAILED if doomed else EXPIRED)

    def fresh_end(self) -> float:
        lifetime = self.settings.lifetime
        return math.inf if lifetime is None else self.now + round(lifetime.seconds * 1e9)

    def use_again(self, entry: Entry) -> None:
        entry.uses += 1
        lifetime = self.settings.lifetime
        if lifetime is None or lifetime.counts_from == "creation":
            return
        base = round(lifetime.seconds * 1e9)
        if lifetime.counts_from == "last-use":
            entry.expires = self.now + base
        else:
            entry.expires = self.now + int(base * (1.0 + math.log10(entry.uses)))

    def written(self, before: Entry | None, ready: int, doomed: bool) -> Entry:
        if before is not None and not before.doomed:
            if doomed:
                return before
            ready = min(ready, before.ready)
        return Entry(ready, ready - 1 if doomed else self.fresh_end(), 1, doomed)

    def choose(self, request: Sent, candidates: list[Block]) -> int:
        if self.settings.replicas.routing != "prefix-aware":
            return request.replica
        half_life = self.settings.replicas.half_life_s * 1e9
        for replica in self.replicas:
            self.load[replica] *= 0.5 ** ((self.now - self.load_time) / half_life)
        self.load_time = self.now
        living = [replica for replica in self.replicas if self.alive[replica]]
        total = sum(self.load[replica] for replica in living)
        limit = self.settings.replicas.balance * total / len(living) + len(request.prompt)

        def readable(replica: int) -> int:
            for i, block in enumerate(candidates):
                place = self.locate(replica, block)
                if place is None or self.entry(place, block).ready > self.now:
                    return i
            return len(candidates)

        eligible = [replica for replica in living if self.load[replica] <= limit]
        return min(eligible, key=lambda replica: (-readable(replica), self.load[replica], replica))

    def lookup(self, number: int, replica: int, candidates: list[Block]) -> tuple[list[int], int, int, float]:
        """Tiers of the blocks that are read, why the next is not (0: it is nowhere), ns to wait and to restore."""
        tiers: list[int] = []
        wait, restore = 0, 0.0
        failures = self.settings.failures
        deadline = (
            math.inf if failures.restore_deadline_s is None else round(failures.restore_deadline_s * 1e9)
        )
        for block in candidates:
            place = self.locate(replica, block)
            if place is None:
                return tiers, 0, wait, restore
            entry = self.entry(place, block)
            if entry.ready > self.now:
                if not self.settings.concurrency.single_flight:
                    return tiers, NOT_READY, wait, restore
                wait = max(wait, entry.ready - self.now)
                if entry.doomed:
                    return tiers, FAILED, wait, restore
            if place[1] > 0:
                needed = restore + self.move_ns(place[1])
                if needed > deadline:
                    self.found.count("late_restores")
                    return tiers, FAILED, wait, restore
                restore = needed
                if failures.restore and drawn(failures.seed, number, self.numbers[block]) < failures.restore:
                    self.found.count("failed_restores")
                    self.lose(place, block, FAILED)
                    return tiers, FAILED, wait, restore
            tiers.append(place[1])
        return tiers, 0, wait, restore

    def losses(self, replica: int, missed: list[Block], hole: int) -> dict[int, int]:
        lost: dict[int, int] = {}
        for i, block in enumerate(missed):
            if block not in self.seen:
                break
            place = self.locate(replica, block)
            cause = hole
            if place is None:
                shared = self.gone.get((None, block), 0) if self.shared is not None else 0
                cause = shared or self.gone.get((replica, block), 0) or OTHER_REPLICA
            elif self.entry(place, block).ready > self.now and not self.settings.concurrency.single_flight:
                self.found.count("duplicate_prefills")
                cause = NOT_READY
            if i == 0:
                hole = cause = hole or cause
            lost[cause] = lost.get(cause, 0) + 1
        return lost

    def serve(self, number: int) -> None:
        request = self.sent[number]
        self.now = request.time
        self.purge()
        blocks = request.blocks(self.size)
        candidates = blocks[: (len(request.prompt) - 1) // self.size] if request.prompt else []
        replica = self.choose(request, candidates)
        tiers, hole, wait, restore = self.lookup(number, replica, candidates)
        hits = len(tiers)
        self.found.hit.append(hits)
        self.found.tier_hits.append([tiers.count(tier) for tier in range(1 + len(self.settings.tiers))])
        self.found.lost.append(self.losses(replica, candidates[hits:], hole))
        self.found.replica.append(replica)
        self.found.waited.append(wait)
        computed = len(request.prompt) - hits * self.size
        self.load[replica] += computed
        self.admit(request, replica, blocks, hits, wait, self.ready(request, wait, restore, computed))
        self.seen.update(blocks)

    def ready(self, request: Sent, wait: int, restore: float, computed: int) -> int:
        concurrency = self.settings.concurrency
        start = self.now + wait
        if concurrency.visibility == "at-once":
            return start
        logged = {"first-token": request.first_token, "end": request.end}.get(concurrency.visibility)
        if logged is not None:
            return max(start, logged)
        assert concurrency.prefill_tokens_per_s is not None
        return start + int(restore + computed * (1e9 / concurrency.prefill_tokens_per_s))

    def admit(
        self, request: Sent, replica: int, blocks: list[Block], hits: int, wait: int, ready: int
    ) -> None:
        fast, policy = self.places[replica, 0], self.policy[replica]
        self.in_use = set(blocks)
        uses = []
        for i, block in reversed(list(enumerate(blocks))):
            what = INSERTED if block not in fast else SERVED if i < hits else REWRITTEN
            uses.append((block, what, request.weight, self.next_use(request, block)))
        policy.foresee(uses)
        new = [block for block, what, *_ in uses if what == INSERTED]
        occupied = -(-request.tokens() // self.size)
        need = len(fast) - (len(blocks) - len(new)) + occupied - self.capacity
        victims = policy.evict(need, lambda block: self.may_go((replica, 0), block)) if need > 0 else []
        room = max(0, self.capacity - (len(fast) - len(victims)))
        left_out = new[: max(0, len(new) - room)]
        self.found.count("not_kept", len(left_out))
        for block in left_out:
            self.gone.setdefault((replica, block), EVICTED)
        uses = [use for use in uses if use[0] not in left_out]
        risen = self.take_up(replica, [use[0] for use in uses if use[1] == INSERTED], set(blocks[:hits]))
        for block in victims:
            self.move_down((replica, 0), block, fast.pop(block))
        for block, what, *_ in uses:
            read = block in blocks[:hits]
            if what == INSERTED:
                entry = risen.get(block) if read else None
                if entry is None:
                    entry = self.written(None, ready, request.doomed)
                    self.found.count("written")
                else:
                    self.use_again(entry)
                    entry.ready = self.now + wait
                fast[block] = entry
            elif read:
                self.use_again(fast[block])
            else:
                fast[block] = self.written(fast[block], ready, request.doomed)
        policy.use(uses)
        policy.after()

    def take_up(self, replica: int, new: list[Block], read: set[Block]) -> dict[Block, Entry]:
        """Entries that come up from lower tiers; a shared tier keeps its copy."""
        risen: dict[Block, Entry] = {}
        for block in new:
            place = self.locate(replica, block)
            if place is None:
                self.gone.pop((None, block), None)
                continue
            if block in read:
                self.found.moved_out[place[1]] += 1
            room = self.places[place]
            entry = room.pop(block)
            if place[0] is None:
                room[block] = entry
                if block in read:
                    self.use_again(entry)
                    risen[block] = Entry(entry.ready, entry.expires, entry.uses)
            else:
                risen[block] = entry
        return risen

    def next_use(self, request: Sent, block: Block) -> int:
        """Next request that could be served the block; the number of requests if it is written again before."""
        if self.settings.policy != "belady":
            return 0
        number = next(i for i, each in enumerate(self.sent) if each is request)
        for later in range(number + 1, len(self.sent)):
            blocks = self.sent[later].blocks(self.size)
            if block in blocks:
                servable = (len(self.sent[later].prompt) - 1) // self.size
                return later if blocks.index(block) < servable else len(self.sent)
        return len(self.sent)

    def invalidate(self, blocks: set[Block], now: int) -> None:
        reached: dict[tuple[int, int | None], int] = {}
        for place in self.places:
            for block in blocks & set(self.places[place]):
                self.found.count("invalidated")
                if self.entry(place, block).ready > now:
                    self.found.count("cancelled_builds")
                reached[place[1], place[0]] = reached.get((place[1], place[0]), 0) + 1
                self.lose(place, block, INVALIDATED)
        for block in blocks:
            for replica in [*self.replicas, *([None] if self.shared is not None else [])]:
                self.gone[replica, block] = INVALIDATED
        self.found.reached.append(reached)

    def change(self, replica: int, joins: bool) -> None:
        self.alive[replica] = joins
        if not joins:
            for place in [p for p in self.places if p[0] == replica]:
                for block in list(self.places[place]):
                    self.found.count("lost_with_replicas")
                    self.lose(place, block, OTHER_REPLICA)

    def run(self, events: list[tuple[int, object]]) -> Findings:
        """`events` by time: (ns, set of blocks to invalidate, or (replica, joins))."""
        waiting = list(events)
        for number, request in enumerate(self.sent):
            while waiting and waiting[0][0] <= request.time:
                self.happen(*waiting.pop(0))
            self.serve(number)
        for event in waiting:
            self.happen(*event)
        self.found.count("pins_broken", sum(getattr(p, "pins_broken", 0) for p in self.policy.values()))
        return self.found

    def happen(self, when: int, event: object) -> None:
        if isinstance(event, tuple):
            self.change(*event)
        else:
            assert isinstance(event, set)
            self.invalidate(event, when)


def drawn(seed: int, request: int, block: int) -> float:
    """The number in [0, 1) that decides on a restore: splitmix64 over seed, request and block."""
    mask = (1 << 64) - 1
    x = (seed * 0x9E3779B97F4A7C15 + request * 0xD1B54A32D192ED03 + block) & mask
    for _ in range(2):
        x = (x + 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        x ^= x >> 31
    return (x >> 11) / 9007199254740992.0
