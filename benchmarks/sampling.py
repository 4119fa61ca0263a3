"""How far `pcache simulate --sample` is from the exact answer, and what memory it saves.

    python -m benchmarks.sampling [NAME=LOG...] [--requests 1000000] [--seeds 8] [--save FILE.json]

For each log or trace given, and for conversations of `--requests` requests made here: the miss-ratio curve from samples
of 1 in 10, 100 and 1,000 touch records beside the exact one, at 48 capacities from the least that the sample can tell to
where the exact curve is flat, in blocks of 16 tokens (a hash trace's own), averaged over samples with different seeds.
Prints a Markdown table: the bytes of touch records, in the sample and of the exact pass; the mean and the largest error;
the error that the report states; the share of points where the exact curve lies within it; and the mean error of SHARDS
as published with as many touches in its sample.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    """One log at one rate; errors as shares of all prompt tokens, all None where every sample was refused."""

    name: str
    requests: int
    rate: float
    exact_bytes: int
    kept_bytes: float | None = None
    mean: float | None = None
    largest: float | None = None
    stated_mean: float | None = None
    stated_largest: float | None = None
    within: float | None = None
    shards_mean: float | None = None


def case_of(name: str, sequences: CachedSequences, time_ns: Int64, size: int) -> Case:
    requests = SimpleNamespace(time_ns=time_ns)
    touched = touches(sequences, requests)  # type: ignore[arg-type]
    return Case(name, sequences, requests, size, touched, stack_records(sequences, touched, size))


def load(name: str, path: Path) -> Case | None:
    """A trace file, or logs; None where no request shares a block with an earlier one."""
    from analyzers.logs import read_log
    from analyzers.pipeline import trace_log
    from analyzers.trace_file import is_trace_file, load_trace

    trace = load_trace(path) if is_trace_file(path) else trace_log(read_log([str(path)])).trace
    size = trace.info.unit if trace.info.unit > 1 else 16
    case = case_of(name, cached_sequences(trace), trace.requests.time_ns, size)
    return case if case.exact.readable_blocks() else None


def curve(records: StackRecords, capacities: Int64) -> Int64:
    lifetime = np.zeros(len(records.width), np.int64)
    hits: Int64 = records.hit_tokens(records.readable, lifetime, 1, capacities)[0]
    return hits


def capacities_of(case: Case, resolution: int) -> Int64:
    least = max(least_blocks(case.sequences, case.size), resolution)
    flat = max(case.exact.least_capacity(1.0), least + 1)
    return np.unique(np.geomspace(least, flat, 48).astype(np.int64))


def one_sample(case: Case, rate: float, seed: int) -> tuple[float, ...]:
    """The figures of Accuracy from kept_bytes on. Raises CannotEvaluateError as the command does."""
    sample = sample_touches(case.sequences, case.requests, Sampling(rate, seed))
    capacities = capacities_of(case, sample.resolution_blocks(case.size))
    estimate = curve(sample.stack_records(case.sequences, case.size), capacities)
    without = [
        curve(sample.stack_records(case.sequences, case.size, group), capacities) for group in range(GROUPS)
    ]
    stated = sample.error(estimate, np.stack(without), case.exact.readable_blocks() * case.size)
    exact = curve(case.exact, capacities)
    error = np.abs(estimate - exact)
    blocks = int((case.sequences.known_tokens // case.size).sum())
    shards, _ = shards_curve(
        case.sequences, case.size, sample.account.kept_records / blocks, seed, capacities
    )
    total = case.prompt_tokens
    return (
        sample.account.kept_records * sample.account.record_bytes,
        error.mean() / total,
        error.max() / total,
        stated.mean() / total,
        stated.max() / total,
        float((error <= stated).mean()),
        np.abs(shards - exact).mean() / total,
    )


def accuracy(case: Case, rate: float, seeds: int) -> Accuracy:
    """The mean over samples; none where one of them was refused."""
    begin = (case.name, len(case.sequences), rate, case.touch_bytes)
    try:
        found = [one_sample(case, rate, seed) for seed in range(seeds)]
    except CannotEvaluateError:
        return Accuracy(*begin)
    return Accuracy(*begin, *(float(x) for x in np.mean(found, axis=0)))


def table(rows: Sequence[Accuracy]) -> str:
    """As Markdown."""
    lines = [
        "| log | requests | sampled | touch records | mean error | largest | stated: mean | largest | within | SHARDS |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        begin = f"| {row.name} | {row.requests:,} | 1 in {round(1 / row.rate):,}"
        if row.kept_bytes is None or row.within is None:
            lines.append(f"{begin} | refused: too few to judge by | | | | | | |")
            continue
        errors = (row.mean, row.largest, row.stated_mean, row.stated_largest)
        cells = [f"{100 * (error or 0):.2f}" for error in errors]
        lines.append(
            f"{begin} | {_size(row.kept_bytes)} of {_size(row.exact_bytes)} | {' | '.join(cells)} | "
            f"{100 * row.within:.0f} % | {100 * (row.shards_mean or 0):.2f} |"
        )
    return "\n".join(lines) + "\n"


def _size(size: float) -> str:
    for limit, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= limit:
            return f"{size / limit:.3g} {unit}"
    return f"{size:.0f} B"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="*", help="NAME=PATH")
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    named = [log.partition("=") for log in options.logs]
    cases = [case for case in (load(name, Path(path)) for name, _, path in named) if case is not None]
    if options.requests:
        made = conversations(options.requests)
        cases.append(case_of("conversations made by the benchmark", made.sequences, made.time_ns, 16))
    rows = [accuracy(case, rate, options.seeds) for case in cases for rate in RATES]
    print(table(rows), end="")
    if options.save is not None:
        options.save.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
