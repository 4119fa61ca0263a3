"""What is asked of `pcache simulate`, and what is to be done with the answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import CannotEvaluateError, UsageError
from pcache_cli import console
from pcache_cli.log_source import LogSource
from pcache_cli.reports.simulate import KvSize

if TYPE_CHECKING:
    from analyzers.pipeline import TracedLog
    from analyzers.trace import Trace
    from pcache_cli.reports.figures import Figures
    from simulators.grids import Capacities
    from simulators.kv_bytes import ModelShape
    from simulators.latency import Calibration
    from simulators.sampling import Sampling


@dataclass(frozen=True)
class Question:
    """What is to be simulated on what; None where it was left to be chosen."""

    source: LogSource
    block_sizes: tuple[int, ...] | None
    capacities: "Capacities | None"
    capacity_asked: bool
    lifetimes: tuple[float | None, ...] | None
    model: str | None
    kv_dtype: str
    tensor_parallel: int
    kv_bytes_per_token: int | None
    ignore_outputs: bool
    sampling: "Sampling | None" = None

    def shape(self) -> "ModelShape | None":
        """The shape of --model, None without. Raises UsageError and InputError."""
        from simulators.kv_bytes import find_shape

        return None if self.model is None else find_shape(self.model)

    def kv(self) -> KvSize:
        """Bytes of a token, by --kv-bytes-per-token or --model. Raises UsageError."""
        from simulators.kv_bytes import kv_bytes

        if self.model is None and (self.kv_dtype != "auto" or self.tensor_parallel != 1):
            raise UsageError(
                "--kv-dtype and --tensor-parallel are about the KV of a model; name it with --model"
            )
        if self.kv_bytes_per_token is not None:
            if self.kv_bytes_per_token < 1:
                raise UsageError(
                    f"--kv-bytes-per-token {self.kv_bytes_per_token} is not possible; give 1 or more"
                )
            if self.model is not None:
                raise UsageError("--model and --kv-bytes-per-token say the same thing; give one")
            return KvSize(self.kv_bytes_per_token, "as given")
        shape = self.shape()
        if shape is None:
            return KvSize()
        found = kv_bytes(shape, self.kv_dtype, self.tensor_parallel)
        for text in found.notes:
            console.note(f"note: {text}")
        return KvSize(found.per_token, f"{shape.name}, {self.kv_dtype}, {self.tensor_parallel} GPU")

    def read(self) -> "tuple[Trace, TracedLog | None]":
        """The trace, and the log it comes from unless the input is a trace."""
        if self.source.is_trace():
            return self.source.trace(), None
        traced = self.source.traced_log()
        return traced.trace, traced

    def check_prompts(self, trace: "Trace") -> None:
        """Raises CannotEvaluateError for an input without prompts."""
        if (trace.requests.leaf < 0).all():
            raise CannotEvaluateError(
                "the input holds no prompts, so there is nothing to simulate; pcache cost reads its usage figures"
            )

    def one_block_size(self) -> int | None:
        """The block size, None when none was given. Raises UsageError for several."""
        if self.block_sizes is not None and len(self.block_sizes) > 1:
            raise UsageError("one configuration has one --block-size; several make a sweep")
        return None if self.block_sizes is None else self.block_sizes[0]

    def one_capacity(self, size: int, bytes_per_token: int | None) -> int | None:
        """The capacity in blocks, None for no bound. Raises UsageError for several."""
        if self.capacities is None:
            return None
        blocks = self.capacities.in_blocks(size, bytes_per_token)
        if len(blocks) > 1:
            raise UsageError("one configuration has one --capacity; several make a sweep")
        return blocks[0]

    def one_lifetime(self) -> float | None:
        """The lifetime in seconds, None for no expiry. Raises UsageError for several."""
        if self.lifetimes is not None and len(self.lifetimes) > 1:
            raise UsageError("one configuration has one --ttl; several make a sweep")
        return None if self.lifetimes is None else self.lifetimes[0]

    def is_one_point(self) -> bool:
        """Whether it asks for a single configuration."""
        one_capacity = self.capacity_asked and (self.capacities is None or len(self.capacities.values) == 1)
        one_size = self.block_sizes is not None and len(self.block_sizes) == 1
        one_lifetime = self.lifetimes is None or len(self.lifetimes) == 1
        return one_capacity and one_size and one_lifetime


@dataclass(frozen=True)
class Earlier:
    """A result to set this one beside."""

    file: Path
    figures: "Figures"


@dataclass(frozen=True)
class Output:
    """Where the result goes and what is asked of it."""

    json: bool
    table: Path | None
    plot: Path | None
    earlier: "Earlier | None"
    fail_below: float | None
    calibration: "Calibration | None"
    restore_tier: str
