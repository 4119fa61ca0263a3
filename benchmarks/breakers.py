"""Eight applications with one layout mistake each, twelve without: what is found, and what the fixes recover.

Run: python -m benchmarks.breakers [--requests 2000] [--seed 1]. Prints recall (mistakes found of eight), false
alarms (breakers reported in clean applications), the share of the possible gain that taking all breakers out
recovers, and CPU seconds. The possible gain comes from the twin log in which nobody made a mistake.
"""

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from analyzers.counterfactual import Counterfactual, take_out
from analyzers.divergence import Slot
from analyzers.divergences import find_divergences
from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, TraceOptions, trace_log
from analyzers.reuse import reusable_depth
from analyzers.slots import find_slots
from analyzers.usage_record import usage_record
from benchmarks.planted_log import PLANTS, planted_log


@dataclass(frozen=True)
class Result:
    """What came of one log. `gains` are the tokens that each plant's own breakers recover alone."""

    found: dict[str, Slot]
    false_alarms: tuple[Slot, ...]
    gains: dict[str, int]
    recovered_tokens: int
    possible_tokens: int

    @property
    def recall(self) -> float:
        return len(self.found) / len(PLANTS)

    @property
    def share(self) -> float:
        return self.recovered_tokens / self.possible_tokens


def write_log(path: Path, requests: int, seed: int, planted: bool) -> dict[str, str | None]:
    """Write the log; the plant of each request by its id."""
    plants: dict[str, str | None] = {}
    with path.open("w", encoding="utf-8") as file:
        for request in planted_log(requests, seed, planted):
            file.write(request.line + "\n")
            plants[json.loads(request.line)["id"]] = request.plant
    return plants


def computed_tokens(traced: TracedLog) -> int:
    """Prompt tokens that no cache could have served."""
    depth, _ = reusable_depth(traced.trace.tree, traced.trace.requests.leaf)
    return int(traced.trace.requests.prompt_tokens.sum() - depth.sum())


def judge(
    traced: TracedLog,
    plants: dict[str, str | None],
    slots: list[Slot],
    outcome: Counterfactual,
    possible: int,
) -> Result:
    """Set what was found beside what was planted. A breaker belongs to the plant of most of its requests."""
    found: dict[str, Slot] = {}
    false_alarms: list[Slot] = []
    gains: Counter[str] = Counter()
    for slot in slots:
        owners = Counter(plants[traced.trace.requests.request_id[row]] for row in slot.requests)
        owner = owners.most_common(1)[0][0]
        if owner is None:
            false_alarms.append(slot)
            continue
        found.setdefault(owner, slot)
        recovered = outcome.of(slot.number)
        gains[owner] += recovered.gain_tokens if recovered is not None else 0
    return Result(found, tuple(false_alarms), dict(gains), outcome.gain_tokens, possible)


def run(folder: Path, requests: int, seed: int) -> Result:
    """Make both logs, analyse the planted one and take its breakers out."""
    options = TraceOptions(answers=False)
    write_log(folder / "clean.jsonl", requests, seed, planted=False)
    least = computed_tokens(trace_log(read_log([str(folder / "clean.jsonl")]), options))
    plants = write_log(folder / "planted.jsonl", requests, seed, planted=True)
    traced = trace_log(read_log([str(folder / "planted.jsonl")]), options)
    divergences = find_divergences(traced, usage_record(traced))
    slots = find_slots(traced, divergences)
    outcome = take_out(traced, divergences, slots)
    return judge(traced, plants, slots, outcome, computed_tokens(traced) - least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        started = time.process_time()
        result = run(Path(name), arguments.requests, arguments.seed)
        seconds = time.process_time() - started
    for plant in PLANTS:
        slot = result.found.get(plant)
        told = (
            "not found"
            if slot is None
            else f"{slot.change}{f', {slot.kind}' if slot.kind else ''} at {slot.path}"
        )
        print(f"{plant:45} {told:45} gain {result.gains.get(plant, 0):>12,}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"recall {result.recall:.0%}, false alarms {len(result.false_alarms)}")
    print(
        f"recovered {result.recovered_tokens:,} of {result.possible_tokens:,} possible tokens: {result.share:.1%}"
    )
    print(f"{seconds:.1f} s CPU with making and reading both logs, {memory:,.0f} MB")


if __name__ == "__main__":
    main()
