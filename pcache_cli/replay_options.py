"""From what a person typed to the settings of a replay or the options of an engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import UsageError
from pcache_cli.axes import parse_capacity
from pcache_cli.units import parse_duration, parse_size

if TYPE_CHECKING:
    from simulators.concurrency import Concurrency
    from simulators.kv_bytes import ModelShape
    from simulators.lifecycle import Failures
    from simulators.policies.priority import PriorityRule
    from simulators.replay_settings import ReplaySettings
    from simulators.replicas import Change, Replicas
    from simulators.tiers import Tier


@dataclass(frozen=True)
class ReplayWords:
    """The options of an event-by-event replay, as typed; all at their defaults when none was given."""

    policy: str | None = None
    ttl_from: str | None = None
    priority: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    replicas: int = 1
    routing: str = "round-robin"
    replica_change: tuple[str, ...] = ()
    visibility: str = "at-once"
    prefill_rate: float | None = None
    single_flight: bool = False
    fail_writes: float = 0.0
    fail_restores: float = 0.0
    restore_deadline: str | None = None
    invalidations: Path | None = None
    seed: int = 0

    def given(self) -> bool:
        """Whether any of them was given."""
        return self != ReplayWords(seed=self.seed)

    def settings(
        self,
        size: int,
        capacity_blocks: int | None,
        ttl_s: float | None,
        bytes_per_token: int | None,
        ignore_outputs: bool,
    ) -> "ReplaySettings":
        """The settings they stand for. Raises UsageError for words that do not parse."""
        from simulators.invalidation import read_invalidations
        from simulators.policies.lifetime import Lifetime
        from simulators.replay_settings import ReplaySettings

        if self.ttl_from is not None and ttl_s is None:
            raise UsageError("--ttl-from says what a lifetime counts from; give the lifetime with --ttl")
        return ReplaySettings(
            block_size=size,
            capacity_blocks=capacity_blocks,
            policy=self.policy or "lru",
            lifetime=None if ttl_s is None else Lifetime(ttl_s, self.ttl_from or "last-use"),  # type: ignore[arg-type]
            priorities=tuple(_priority(text) for text in self.priority),
            tiers=self.tiers(size, bytes_per_token),
            bytes_per_token=bytes_per_token,
            replicas=self._replicas(),
            concurrency=self._concurrency(),
            failures=self._failures(),
            invalidations=() if self.invalidations is None else read_invalidations(self.invalidations),
            ignore_outputs=ignore_outputs,
        )

    def tiers(self, size: int, bytes_per_token: int | None) -> "tuple[Tier, ...]":
        """The lower tiers, sized in blocks of `size` tokens. Raises UsageError for words that do not parse."""
        return tuple(_tier(text, size, bytes_per_token) for text in self.tier)

    def _replicas(self) -> "Replicas":
        from simulators.replicas import Replicas

        return Replicas(
            count=self.replicas,
            routing=self.routing,  # type: ignore[arg-type]
            seed=self.seed,
            changes=tuple(sorted((_change(t) for t in self.replica_change), key=lambda c: c.time_ns)),
        )

    def _concurrency(self) -> "Concurrency":
        from simulators.concurrency import Concurrency

        return Concurrency(self.visibility, self.prefill_rate, self.single_flight)  # type: ignore[arg-type]

    def _failures(self) -> "Failures":
        from simulators.lifecycle import Failures

        deadline = None if self.restore_deadline is None else parse_duration(self.restore_deadline)
        return Failures(self.fail_writes, self.fail_restores, deadline, self.seed)


def _tier(text: str, size: int, bytes_per_token: int | None) -> "Tier":
    """`cpu=256GiB@25GB`, `disk=2TiB@3GB`, `remote=8TiB@1GB,shared`."""
    from simulators.grids import Capacities
    from simulators.tiers import Tier

    name, equals, rest = text.partition("=")
    room, *flags = rest.split(",")
    room, at, rate = room.partition("@")
    if not equals or not name or (at and not rate) or any(flag.strip() != "shared" for flag in flags):
        raise UsageError(f"'{text}' is no tier; write for example cpu=256GiB@25GB or remote=8TiB@1GB,shared")
    value, unit = parse_capacity(room)
    (blocks,) = Capacities(unit, (value,)).in_blocks(size, bytes_per_token)
    return Tier(name.strip(), blocks, float(parse_size(rate)) if rate else None, bool(flags))


def _priority(text: str) -> "PriorityRule":
    """`tenant=acme:2` or `tenant=acme:pin`."""
    from simulators.policies.priority import PriorityRule

    name, equals, rest = text.partition("=")
    value, colon, level = rest.rpartition(":")
    if not equals or not colon or not (level == "pin" or level.isdecimal()):
        raise UsageError(f"'{text}' is no priority; write for example tenant=acme:2 or route=chat:pin")
    if level == "pin":
        return PriorityRule(name.strip(), value, pinned=True)
    return PriorityRule(name.strip(), value, int(level))


def _change(text: str) -> "Change":
    """`2026-10-05T09:00:00Z=leave:2`."""
    from analyzers.logs.timestamps import parse_time
    from simulators.replicas import Change

    when, _, what = text.rpartition("=")
    verb, _, replica = what.partition(":")
    time = parse_time(when) if when else None
    if time is None or verb not in ("join", "leave") or not replica.isdecimal():
        raise UsageError(
            f"'{text}' is no coming or going of a replica; write for example 2026-10-05T09:00:00Z=leave:2"
        )
    return Change(time, int(replica), verb == "join")


@dataclass(frozen=True)
class GpuMemory:
    """What vLLM's number of blocks is derived from, as typed."""

    memory: str | None
    utilization: float | None
    weight_bytes: str | None


def engine_options(
    engine: str,
    flags: Mapping[str, float | None],
    pairs: Sequence[str],
    shape: "ModelShape | None",
    gpu: GpuMemory,
    dtype: str,
    tensor_parallel: int,
    bytes_per_token: int | None,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The options of an engine by name, and notes on what was derived. `flags` are those with an option of their
    own, `pairs` are `name=value`. Raises UsageError."""
    from simulators.engines import find_engine
    from simulators.kv_bytes import vllm_gpu_blocks

    takes = find_engine(engine).options
    options: dict[str, float] = {name: value for name, value in flags.items() if value is not None}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            options[name.strip().lstrip("-")] = float(value)
        except ValueError:
            raise UsageError(f"'{pair}' is no engine option; write for example eviction-ratio=0.05") from None
        if not equals:
            raise UsageError(f"'{pair}' is no engine option; write for example eviction-ratio=0.05")
    if "kv-bytes-per-token" in takes and bytes_per_token is not None:
        options.setdefault("kv-bytes-per-token", bytes_per_token)
    wants_blocks = gpu.memory is not None or gpu.utilization is not None or gpu.weight_bytes is not None
    if not wants_blocks:
        return options, ()
    if "num-gpu-blocks" not in takes:
        raise UsageError(f"--gpu-memory-utilization is an option of vllm, not of {engine}")
    if "num-gpu-blocks" in options:
        raise UsageError("give --num-gpu-blocks or what it is derived from (--gpu-memory), not both")
    if shape is None or gpu.memory is None:
        raise UsageError("to derive the number of blocks, give --model and --gpu-memory (of one GPU)")
    found = vllm_gpu_blocks(
        shape,
        parse_size(gpu.memory),
        0.9 if gpu.utilization is None else gpu.utilization,
        int(options.get("block-size", takes["block-size"] or 16)),
        dtype,
        tensor_parallel,
        None if gpu.weight_bytes is None else parse_size(gpu.weight_bytes),
    )
    return {**options, "num-gpu-blocks": found.blocks}, found.notes
