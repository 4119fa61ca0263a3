"""How far `pcache simulate --sample` is from the exact answer, and what memory it saves.

    python -m benchmarks.sampling [LOG...] [--requests 1000000] [--seeds 8]

For each log or trace given, and for conversations of `--requests` requests made here: the miss-ratio curve from samples
of 1 in 10, 100 and 1,000 beside the exact one, at 48 capacities from the least that the sample can tell to where the
exact curve is flat, in blocks of 16 tokens (a hash trace's own), averaged over samples with different seeds. Prints a
Markdown table: how many bytes of touch records are kept, the mean and the largest error, the error that the report states,
and the share of points where the exact curve lies within it. A second table sets SHARDS as published beside it, at equal
numbers of touches, over all capacities.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.trace import Int64
from benchmarks.conversations import conversations
from benchmarks.shards_baseline import shards_curve
from simulators.blocks import CachedSequences, cached_sequences
from simulators.sampling import GROUPS, Sampling, sample_touches
from simulators.stack_records import StackRecords, stack_records
from simulators.sweep import least_blocks
from simulators.touch_records import Touches, touches

RATES = (0.1, 0.01, 0.001)


@dataclass(frozen=True)
class Case:
    """A log to sample: its paths, what stands for its requests, the block size and the exact answer."""

    name: str
    sequences: CachedSequences
    requests: Any
    size: int
    touched: Touches
    exact: StackRecords

    @property
    def prompt_tokens(self) -> int:
        return int(self.sequences.prompt_tokens.sum())

    @property
    def touch_bytes(self) -> int:
        """Of the exact records, with the request of each."""
        return 16 * len(self.touched.last)


@dataclass(frozen=True)
class Accuracy:
    """Errors of one sample, as shares of all prompt tokens."""

    kept_bytes: int
    mean: float
    largest: float
    stated_mean: float
    stated_largest: float
    within: float


def case_of(name: str, sequences: CachedSequences, time_ns: Int64, size: int) -> Case:
    requests = SimpleNamespace(time_ns=time_ns)
    touched = touches(sequences, requests)  # type: ignore[arg-type]
    return Case(name, sequences, requests, size, touched, stack_records(sequences, touched, size))


def load(path: Path) -> Case | None:
    """A trace file, or logs; None where no request shares a block with an earlier one."""
    from analyzers.logs import read_log
    from analyzers.pipeline import trace_log
    from analyzers.trace_file import is_trace_file, load_trace

    trace = load_trace(path) if is_trace_file(path) else trace_log(read_log([str(path)])).trace
    size = trace.info.unit if trace.info.unit > 1 else 16
    case = case_of(path.name, cached_sequences(trace), trace.requests.time_ns, size)
    return case if case.exact.readable_blocks() else None


def curve(records: StackRecords, capacities: Int64) -> Int64:
    lifetime = np.zeros(len(records.width), np.int64)
    return records.hit_tokens(records.readable, lifetime, 1, capacities)[0]


def capacities_of(case: Case, resolution: int) -> Int64:
    least = max(least_blocks(case.sequences, case.size), resolution)
    flat = max(case.exact.least_capacity(1.0), least + 1)
    return np.unique(np.geomspace(least, flat, 48).astype(np.int64))


def accuracy(case: Case, rate: float, seed: int) -> Accuracy:
    """Raises CannotEvaluateError as the command does."""
    sample = sample_touches(case.sequences, case.requests, Sampling(rate, seed))
    capacities = capacities_of(case, sample.resolution_blocks(case.size))
    estimate = curve(sample.stack_records(case.sequences, case.size), capacities)
    without = [
        curve(sample.stack_records(case.sequences, case.size, group), capacities) for group in range(GROUPS)
    ]
    stated = sample.error(estimate, np.stack(without), case.exact.readable_blocks() * case.size)
    error = np.abs(estimate - curve(case.exact, capacities))
    total = case.prompt_tokens
    return Accuracy(
        kept_bytes=sample.account.kept_records * sample.account.record_bytes,
        mean=error.mean() / total,
        largest=error.max() / total,
        stated_mean=stated.mean() / total,
        stated_largest=stated.max() / total,
        within=float((error <= stated).mean()),
    )


def row(case: Case, rate: float, seeds: int) -> str:
    """A line of the table."""
    found = []
    for seed in range(seeds):
        try:
            found.append(accuracy(case, rate, seed))
        except CannotEvaluateError:
            continue
    begin = f"| {case.name} | {len(case.sequences):,} | 1 in {round(1 / rate):,} |"
    if len(found) < seeds:
        return f"{begin} refused: too few to judge by | | | | |"
    mean = {name: float(np.mean([getattr(a, name) for a in found])) for name in Accuracy.__annotations__}
    return (
        f"{begin} {_size(mean['kept_bytes'])} of {_size(case.touch_bytes)} | {100 * mean['mean']:.2f} | "
        f"{100 * mean['largest']:.2f} | {100 * mean['stated_mean']:.2f} | {100 * mean['stated_largest']:.2f} | "
        f"{100 * mean['within']:.0f} % |"
    )


def _size(size: float) -> str:
    for limit, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= limit:
            return f"{size / limit:.3g} {unit}"
    return f"{size:.0f} B"


def print_baseline(case: Case, seeds: int) -> None:
    """Errors of touches drawn by length, and of SHARDS with the same number of touches in its sample."""
    capacities = capacities_of(case, 0)
    exact = curve(case.exact, capacities)
    blocks = int((case.sequences.known_tokens // case.size).sum())
    for rate in RATES:
        errors, found = [], []
        kept = 0.0
        for seed in range(seeds):
            try:
                sample = sample_touches(case.sequences, case.requests, Sampling(rate, seed))
            except CannotEvaluateError:
                continue
            estimate = curve(sample.stack_records(case.sequences, case.size), capacities)
            errors.append(np.abs(estimate - exact).mean() / case.prompt_tokens)
            kept += sample.account.kept_records / seeds
            share = sample.account.kept_records / blocks
            shards, _ = shards_curve(case.sequences, case.size, share, seed, capacities)
            found.append(np.abs(shards - exact).mean() / case.prompt_tokens)
        if len(errors) == seeds:
            print(
                f"| {case.name} | {kept:,.0f} | {100 * np.mean(errors):.2f} | {100 * np.mean(found):.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    cases = [case for case in map(load, options.logs) if case is not None]
    if options.requests:
        made = conversations(options.requests)
        cases.append(case_of("conversations made here", made.sequences, made.time_ns, 16))
    print(
        "| log | requests | sampled | touch records | error: mean | largest | stated: mean | largest | within |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for case in cases:
        for rate in RATES:
            print(row(case, rate, options.seeds), flush=True)
    print("\n| log | touches in the sample | mean error, points | of SHARDS |\n|---|---|---|---|")
    for case in cases:
        print_baseline(case, options.seeds)


if __name__ == "__main__":
    main()
