"""What a replay is asked: one configuration of caches, policies and failures."""

from dataclasses import dataclass, field

from analyzers.errors import UsageError
from simulators.concurrency import Concurrency
from simulators.invalidation import Invalidation
from simulators.lifecycle import Failures
from simulators.policies import POLICIES
from simulators.policies.lifetime import Lifetime
from simulators.policies.priority import PriorityRule
from simulators.replicas import Replicas
from simulators.tiers import Tier, block_move_ns, check_tiers


@dataclass(frozen=True)
class ReplaySettings:
    """One configuration. `capacity_blocks` is that of the fastest tier of each replica, None for no bound.

    `tiers` are the ones below it, `bytes_per_token` is what a token's KV takes, for tier rates and bytes moved.
    `priorities` go with the policy `priority`; `attention_equals_rest` with `size-aware`: tokens of context at
    which attention costs as much as everything else (about 30,000 for an 8B model with 32 layers of width 4096:
    2 * 8e9 FLOPs a token against 4 * 32 * 4096 for each token of context).
    """

    block_size: int = 16
    capacity_blocks: int | None = None
    policy: str = "lru"
    lifetime: Lifetime | None = None
    priorities: tuple[PriorityRule, ...] = ()
    attention_equals_rest: int = 30_000
    tiers: tuple[Tier, ...] = ()
    bytes_per_token: int | None = None
    replicas: Replicas = field(default_factory=Replicas)
    concurrency: Concurrency = field(default_factory=Concurrency)
    failures: Failures = field(default_factory=Failures)
    invalidations: tuple[Invalidation, ...] = ()
    ignore_outputs: bool = False

    def check(self) -> None:
        """Raises UsageError for settings that make no sense, alone or together."""
        if self.policy not in POLICIES:
            raise UsageError(f"'{self.policy}' is not a policy; there are {', '.join(POLICIES)}")
        if self.priorities and self.policy != "priority":
            raise UsageError(f"priorities and pins mean nothing to policy '{self.policy}'; use 'priority'")
        if self.attention_equals_rest < 1:
            raise UsageError("the context at which attention costs as much as the rest is at least 1 token")
        if self.policy == "belady" and (
            self.lifetime is not None
            or self.tiers
            or self.replicas != Replicas()
            or self.concurrency != Concurrency()
            or self.failures != Failures()
            or self.invalidations
        ):
            raise UsageError(
                "belady is the optimum only for one cache without lifetimes, tiers, replicas, waiting, failures "
                "and invalidations; leave those away or choose another policy"
            )
        if self.lifetime is not None:
            self.lifetime.kind()
        check_tiers(self.tiers)
        block_move_ns(
            self.tiers, None if self.bytes_per_token is None else self.bytes_per_token * self.block_size
        )
        self.replicas.check()
        self.concurrency.check()
        self.failures.check()

    def needs_times(self) -> bool:
        """Whether the answer depends on when requests come, not only on their order."""
        return (
            self.lifetime is not None
            or self.concurrency.visibility != "at-once"
            or self.replicas.routing == "prefix-aware"
            or bool(self.replicas.changes)
            or bool(self.invalidations)
            or any(tier.bytes_per_s is not None for tier in self.tiers)
        )
