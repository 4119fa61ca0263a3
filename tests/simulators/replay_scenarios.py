"""Random small logs and settings, told both to the replay and to its slow twin."""

import random
from dataclasses import dataclass

import numpy as np

from analyzers.trace import Trace
from simulators.concurrency import Concurrency
from simulators.invalidation import Invalidation
from simulators.lifecycle import Failures, Loss
from simulators.policies.lifetime import Lifetime
from simulators.policies.priority import PINNED, PriorityRule
from simulators.replay import ReplayResult, replay
from simulators.replay_plan import find_accesses
from simulators.replay_settings import ReplaySettings
from simulators.replicas import Change, Replicas
from simulators.tiers import Tier
from tests.simulators.slow_replay import Block, Findings, Sent, SlowReplay
from tests.trace_builder import trace_from_tokens

SECOND = 10**9
BEGINNING = np.iinfo(np.int64).min


@dataclass
class Log:
    """Requests of a random log; times in seconds."""

    prompts: list[list[int]]
    outputs: list[list[int]]
    times: list[int]
    firsts: list[int]
    ends: list[int]
    tenants: list[str]
    sessions: list[str]
    outputs_known: bool = True

    def trace(self) -> Trace:
        return trace_from_tokens(
            self.prompts,
            self.outputs if self.outputs_known else None,
            self.times,
            output_lengths=[len(output) for output in self.outputs],
            first_token_times=self.firsts,
            end_times=self.ends,
            tenants=self.tenants,
            sessions=self.sessions,
        )


def random_log(rng: random.Random, most: int = 24) -> Log:
    """Conversations over an alphabet of three tokens: prompts that continue, repeat, cut or restart earlier ones."""
    log = Log([], [], sorted(rng.randint(1, 40) for _ in range(rng.randint(1, most))), [], [], [], [])
    log.outputs_known = rng.random() < 0.7
    for time in log.times:
        prompt = [rng.randint(0, 2) for _ in range(rng.randint(1, 6))]
        if log.prompts and rng.random() < 0.85:
            earlier = rng.choice(log.prompts)
            prompt = earlier[: rng.choice([len(earlier), rng.randint(0, len(earlier))])]
            prompt = prompt + [rng.randint(0, 2) for _ in range(rng.randint(0, 5))]
        log.prompts.append(prompt)
        log.outputs.append([rng.randint(0, 2) for _ in range(rng.choice([0, 0, 1, 3]))])
        log.firsts.append(time + rng.randint(0, 4))
        log.ends.append(log.firsts[-1] + rng.randint(0, 4))
        log.tenants.append(rng.choice(["gold", "free", "vip"]))
        log.sessions.append(rng.choice(["s1", "s2", "s3"]))
    return log


def least_capacity(log: Log, size: int) -> int:
    """Blocks of the largest request."""
    return max(
        1,
        *(-(-(len(p) + max(len(o) - 1, 0)) // size) for p, o in zip(log.prompts, log.outputs, strict=True)),
    )


def random_settings(rng: random.Random, log: Log, policy: str) -> ReplaySettings:
    """Any mixture of what a replay can do with this policy."""
    size = rng.choice([1, 1, 2, 3])
    capacity = least_capacity(log, size) + rng.randint(0, 6)
    rules = (PriorityRule("tenant", "gold", 2), PriorityRule("tenant", "vip", pinned=True))
    plain = ReplaySettings(
        block_size=size,
        capacity_blocks=capacity,
        policy=policy,
        priorities=tuple(r for r in rules if policy == "priority" and r.value in log.tenants),
        attention_equals_rest=rng.choice([3, 30]),
    )
    if policy == "belady":
        return plain
    tiers: tuple[Tier, ...] = ()
    if rng.random() < 0.5:
        rates = [None, 1.0 * size, 4.0 * size]
        tiers = (Tier("cpu", rng.randint(1, 6), rng.choice(rates)),)
        if rng.random() < 0.6:
            tiers += (Tier("remote", rng.randint(1, 8), rng.choice(rates), rng.random() < 0.6),)
    failures = Failures()
    if rng.random() < 0.4:
        failures = Failures(
            rng.choice([0, 0.3]), rng.choice([0, 0.3]), rng.choice([None, 0.5, 2]), rng.randint(0, 99)
        )
    lifetime = None
    if rng.random() < 0.5:
        lifetime = Lifetime(rng.choice([1, 3, 8, 20]), rng.choice(["last-use", "creation", "hits"]))
    concurrency = Concurrency()
    if rng.random() < 0.5:
        visibility = rng.choice(["prefill", "first-token", "end"])
        concurrency = Concurrency(visibility, rng.choice([0.5, 2, 10]), rng.random() < 0.5)
    return ReplaySettings(
        **{
            **vars(plain),
            "tiers": tiers,
            "bytes_per_token": 1,
            "lifetime": lifetime,
            "replicas": _random_replicas(rng) if rng.random() < 0.5 else Replicas(),
            "concurrency": concurrency,
            "failures": failures,
            "invalidations": _random_invalidations(rng, log) if rng.random() < 0.4 else (),
        }
    )


def _random_replicas(rng: random.Random) -> Replicas:
    count = rng.randint(2, 3)
    changes: list[Change] = []
    if rng.random() < 0.5:
        leaves = rng.randint(1, 30)
        changes = [Change(leaves * SECOND, 1, False), Change((leaves + rng.randint(0, 9)) * SECOND, 1, True)]
        changes = changes[:: rng.choice([1, 1, -1])]
    routing = rng.choice(["random", "round-robin", "session-hash", "consistent-prefix", "prefix-aware"])
    return Replicas(
        count, routing, rng.randint(0, 9), 2, rng.choice([1.0, 1.5]), rng.choice([2.0, 20.0]), tuple(changes)
    )


def _random_invalidations(rng: random.Random, log: Log) -> tuple[Invalidation, ...]:
    events = []
    for _ in range(rng.randint(1, 3)):
        time = rng.randint(1, 42) * SECOND
        if rng.random() < 0.5:
            events.append(Invalidation(time, "privacy", (("tenant", rng.choice(["gold", "free"])),)))
        else:
            number = rng.randint(1, len(log.prompts))
            events.append(Invalidation(time, "document", (), f"r{number}", rng.randint(0, 5)))
    return tuple(events)


def told_to_twin(log: Log, settings: ReplaySettings, routes: list[int]) -> list[Sent]:
    """The log as the twin takes it."""
    doomed = settings.failures.failing_writes(len(log.prompts))
    classes = {"gold": 2, "free": 0, "vip": PINNED}
    sent = []
    for i, prompt in enumerate(log.prompts):
        weight = 0
        if settings.policy == "priority":
            weight = classes[log.tenants[i]]
        elif settings.policy == "size-aware":
            weight = round((1 << 20) * (1.0 + len(prompt) / (2.0 * settings.attention_equals_rest)))
        sent.append(
            Sent(
                log.times[i] * SECOND,
                prompt,
                log.outputs[i][:-1] if log.outputs_known else [],
                output_tokens=len(log.outputs[i]),
                first_token=log.firsts[i] * SECOND,
                end=log.ends[i] * SECOND,
                weight=weight,
                doomed=bool(doomed[i]),
                replica=routes[i],
            )
        )
    return sent


def twin_events(log: Log, settings: ReplaySettings, sent: list[Sent]) -> list[tuple[int, object]]:
    """Comings, goings and invalidations by time."""
    events: list[tuple[int, object]] = [
        (change.time_ns, (change.replica, change.joins)) for change in settings.replicas.in_order()
    ]
    for event in settings.invalidations:
        before = [i for i, request in enumerate(sent) if request.time < event.time_ns]
        chosen = [i for i in before if all(log.tenants[i] == value for _, value in event.fields)]
        if event.request is not None:
            chosen = [i for i in chosen if f"r{i + 1}" == event.request]
        blocks: set[Block] = set()
        skipped = event.from_token // settings.block_size
        for i in chosen:
            own = sent[i].blocks(settings.block_size)
            blocks |= set(own[skipped:])
            if event.from_token and own[skipped:]:
                root = own[skipped]
                for j in before:
                    blocks |= {b for b in sent[j].blocks(settings.block_size) if b[: len(root)] == root}
        events.append((event.time_ns, blocks))
    return sorted(events, key=lambda event: event[0])


def both(log: Log, settings: ReplaySettings) -> tuple[ReplayResult, Findings]:
    """The replay's result and the twin's findings."""
    trace = log.trace()
    result = replay(trace, settings)
    sent = told_to_twin(log, settings, result.replica.tolist())
    accesses = find_accesses(trace, settings)
    numbers: dict[Block, int] = {}
    for i, request in enumerate(sent):
        ids = accesses.blocks[accesses.offsets[i] : accesses.offsets[i + 1]].tolist()
        numbers.update(zip(request.blocks(settings.block_size), ids, strict=True))
    twin = SlowReplay(settings, sent, numbers).run(twin_events(log, settings, sent))
    return result, twin


def assert_same(result: ReplayResult, twin: Findings) -> None:
    """Request by request and in total."""
    size = result.settings.block_size
    assert (result.hit_tokens // size).tolist() == twin.hit
    assert result.replica.tolist() == twin.replica
    assert (result.tier_hit_tokens // size).tolist() == twin.tier_hits
    lost = [{int(c): int(row[c]) // size for c in Loss if row[c]} for row in result.lost_tokens]
    assert lost == twin.lost
    assert result.waited_ns.tolist() == twin.waited
    for name, count in vars(result.counters).items():
        if name != "accesses":
            assert count == twin.counted.get(name, 0), name
    assert [tier.moved_in_blocks for tier in result.tiers] == twin.moved_in
    assert [tier.moved_out_blocks for tier in result.tiers] == twin.moved_out
    names = [tier.name for tier in result.tiers]
    several = result.settings.replicas.count > 1
    for report, reached in zip(result.invalidations, twin.reached, strict=True):
        assert {(r.tier, r.replica): r.blocks for r in report.reached} == {
            (names[tier], replica if several else None): blocks for (tier, replica), blocks in reached.items()
        }
