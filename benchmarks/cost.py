"""What `pcache cost` adds to reading a log.

    python -m benchmarks.cost [--requests 20000] [--provider]

Makes an agent log with usage rows in a temporary folder, reads it, and prints the CPU seconds of reading it and of
the cost overview (bill, lifetimes, forecast, pre-warming); with --provider those of a replay under the provider's
rules too.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, trace_log
from benchmarks.agent_log import agent_log
from simulators.cost_overview import cost_overview
from simulators.price_files import load_price_book
from simulators.providers.replay import replay
from simulators.providers.rules import load_rule_book


def with_usage(line: str) -> str:
    """The row with the figures of a cache that reads three quarters of the prompt, in steps of 128 tokens."""
    row = json.loads(line)
    prompt = max(len(line) // 4, 1)
    details = {"cached_tokens": prompt * 3 // 4 // 128 * 128}
    usage = {"prompt_tokens": prompt, "completion_tokens": 200, "prompt_tokens_details": details}
    row["response"]["usage"] = usage
    return json.dumps(row)


def measured(log: TracedLog, provider: bool) -> dict[str, float]:
    """CPU seconds by step."""
    seconds = {}
    start = time.process_time()
    prices, rules = load_price_book(), load_rule_book()
    seconds["price and rule files"] = time.process_time() - start
    start = time.process_time()
    overview = cost_overview(log.trace, log.log.requests, prices, rules, ("model", "session"))
    seconds["cost overview"] = time.process_time() - start
    bill = next(iter(overview.report.bills.values()))
    print(
        f"{bill.requests:,} requests billed, {bill.paid} {bill.currency}, {len(overview.lifetimes)} price lists"
    )
    if provider:
        start = time.process_time()
        replay(log.trace, rules, log.log.requests)
        seconds["provider replay"] = time.process_time() - start
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--provider", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("w") as out:
            for line in agent_log(options.requests):
                out.write(with_usage(line) + "\n")
        start = time.process_time()
        log = trace_log(read_log([str(path)]))
        print(f"reading and tracing: {time.process_time() - start:.2f} s")
    for name, seconds in measured(log, options.provider).items():
        print(f"{name}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
