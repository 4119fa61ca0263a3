"""A log in shards on a cluster: shards are read anywhere, again where that fails, and left out where it keeps failing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analyzers.errors import CannotEvaluateError, PcacheError
from analyzers.pipeline import TraceOptions
from analyzers.request import Log
from analyzers.shards.cluster.exchange import ShardPieces, merge_on_cluster
from analyzers.shards.cluster.forest import ROOT_TOKENS
from analyzers.shards.cluster.protocol import Cluster, TaskError
from analyzers.shards.cluster.shard_tasks import Head, make_pieces
from analyzers.shards.merged_rows import stale_pieces
from analyzers.shards.plan import FilePart, Plan, Shard, check_unchanged, read_at_once
from analyzers.shards.slices import needs_reading_together
from analyzers.trace import Trace

Progress = Callable[[int, int], None]
"""Called with how many shards are done, of how many."""

_FILES_NAMED = 3


@dataclass(frozen=True)
class PoisonedShard:
    """A shard that no worker could read, and why; the trace is that of the others."""

    shard: Shard
    reason: str

    def __str__(self) -> str:
        return f"left out {_where(self.shard.parts)}: {self.reason}"


@dataclass(frozen=True)
class ShardedResult:
    """A Trace, the account of its log (a Log without its requests), and what of the log is not in either."""

    trace: Trace
    log: Log
    poisoned: tuple[PoisonedShard, ...]


@dataclass
class _Reading:
    """The shards of a plan as far as they are read."""

    cluster: Cluster
    plan: Plan
    options: TraceOptions
    progress: Progress | None
    read: dict[int, ShardPieces]
    poisoned: dict[int, PoisonedShard]

    @property
    def heads(self) -> list[Head]:
        return [head for shard in self.read.values() for head in shard.heads]

    def read_shards(self, shards: Sequence[Shard], tokenizer: str | None = None) -> None:
        """Raises what reading and tokenizing raise; of several such errors that of the first shard."""
        begun = [
            self.cluster.submit_split(make_pieces, 2, shard, self.plan.options, self.options, tokenizer)
            for shard in shards
        ]
        for done, (shard, (heads, pieces)) in enumerate(zip(shards, begun, strict=True)):
            if self.progress is not None:
                self.progress(done, len(shards))
            try:
                self.read[shard.number] = ShardPieces(self.cluster.get(heads), pieces)
            except TaskError as failure:
                self.read.pop(shard.number, None)
                self.poisoned[shard.number] = PoisonedShard(shard, str(failure))
            except PcacheError:
                self.cluster.cancel([heads for heads, _ in begun])
                raise
        if self.progress is not None:
            self.progress(len(shards), len(shards))


def trace_on_cluster(
    cluster: Cluster,
    plan: Plan,
    options: TraceOptions,
    progress: Progress | None = None,
    root_tokens: int = ROOT_TOKENS,
) -> ShardedResult:
    """The Trace of a log on a cluster: what `trace_log` gives, byte for byte once saved, of all shards not poisoned.

    Raises what `read_log` and `trace_log` raise, and CannotEvaluateError if no shard can be read or the shards that
    were read cannot be brought together.
    """
    reading = _Reading(cluster, plan, options, progress, {}, {})
    reading.read_shards(plan.shards)
    if needs_reading_together([head.account for head in reading.heads]):
        reading = _Reading(cluster, read_at_once(plan), options, progress, {}, {})
        reading.read_shards(reading.plan.shards)
    stale = stale_pieces(reading.heads, options)
    if stale is not None:
        shard_of = [number for number, shard in reading.read.items() for _ in shard.heads]
        again = {shard_of[piece] for piece in stale.pieces}
        reading.read_shards([s for s in reading.plan.shards if s.number in again], stale.tokenizer)
    poisoned = tuple(reading.poisoned.values())
    if not reading.read:
        raise CannotEvaluateError(f"none of the log could be read; {poisoned[0]}")
    try:
        merged = merge_on_cluster(cluster, list(reading.read.values()), options, root_tokens)
        for note in check_unchanged(plan):
            merged.log.note(note)
    except TaskError as failure:
        raise CannotEvaluateError(
            f"the log was read, but the cluster could not put its parts together: {failure}; "
            "give it more memory or machines"
        ) from failure
    except PcacheError as problem:
        if not poisoned:
            raise
        raise type(problem)(f"{problem} ({poisoned[0]})") from problem
    return ShardedResult(merged.trace, merged.log, poisoned)


def _where(parts: Sequence[FilePart]) -> str:
    names = [_part_name(part) for part in parts[:_FILES_NAMED]]
    more = len(parts) - len(names)
    if more:
        return f"{', '.join(names)} and {more} more {'file' if more == 1 else 'files'}"
    return ", ".join(names)


def _part_name(part: FilePart) -> str:
    source = part.source
    if source.end is None:
        return source.name
    return f"bytes {source.start:,} to {source.end:,} of {source.name}"
