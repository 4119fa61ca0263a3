"""How fast `pcache analyze` is: against the floor of parsing the same bytes, in one run.

    python -m benchmarks.analyze [--requests 20000] [--runs 3]

Makes an agent log (200 MB and more at 20,000 requests) in a temporary folder and prints: the floor (orjson.loads
over every line), the whole command and its ratio to the floor, the same apart from start-up (imports, loading
the tokenizer), MB/s, tokens sent and tokens that were distinct, peak memory, the prefix tree's tokens per second,
and encoding each distinct segment once against encoding every prompt whole with the same engine.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.agent_log import write_agent_log

_FLOOR = """
import orjson, sys
with open(sys.argv[1], "rb") as file:
    for line in file:
        orjson.loads(line)
"""
_START_UP = """
from pcache_cli.app import app
import analyzers.kernels, analyzers.chunk_kernels, numpy, pyarrow, rich.console, rich.table
from analyzers.tokenization import load_tokenizer
load_tokenizer("o200k").encode("a")
"""


def timed(command: list[str]) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak memory (bytes) of a command."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        raise RuntimeError(f"{command} ended with status {status}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def middle(runs: int, measure: Callable[[], tuple[float, float, int]]) -> tuple[float, float, int]:
    """The medians over several runs."""
    results = [measure() for _ in range(runs)]
    wall, cpu, memory = (median(column) for column in zip(*results, strict=True))
    return wall, cpu, int(memory)


def tree_speed(log: Path) -> tuple[int, int, float]:
    """Tokens sent, distinct tokens, and tokens per second of the prefix tree alone."""
    from analyzers.logs import read_log
    from analyzers.pipeline import trace_log
    from analyzers.prefix_tree import build_prefix_tree

    traced = trace_log(read_log([str(log)]))
    namespace = traced.trace.requests.namespace
    best = min(_seconds(lambda: build_prefix_tree(traced.sequences, namespace)) for _ in range(3))
    sent = int(traced.trace.requests.prompt_tokens.sum())
    return sent, len(traced.sequences.pool), sent / best


def whole_prompts(log: Path, sample: int = 400) -> tuple[float, float]:
    """Seconds for a sample of requests: every prompt encoded whole, and each distinct segment encoded once."""
    from analyzers.logs import read_log
    from analyzers.rendering import make_rendering
    from analyzers.tokenization import load_tokenizer

    tokenizer = load_tokenizer("o200k")
    rendering = make_rendering(None, tokenizer)
    prompts = [rendering.render(request) for request in read_log([str(log)]).requests[:sample]]
    tokenizer.encode_batch(["warm up"])
    whole = _seconds(
        lambda: tokenizer.encode_batch(
            ["".join(s.text for part in prompt for s in part.segments) for prompt in prompts]
        )
    )
    distinct = {
        s.number: s.text for prompt in prompts for part in prompt for s in part.segments if not s.special
    }
    once = _seconds(lambda: tokenizer.encode_batch(list(distinct.values())))
    return whole, once


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--log", type=Path, help="use this log instead of making one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = arguments.log or Path(folder) / "agents.jsonl"
        if arguments.log is None:
            write_agent_log(log, arguments.requests)
        size = log.stat().st_size / 1e6
        python = sys.executable
        everything = [python, "-m", "pcache_cli", "analyze", str(log), "--json", "--quiet"]
        analyze = [*everything, "--no-breakers"]
        first, _, _ = timed(analyze)
        floor = middle(arguments.runs, lambda: timed([python, "-c", _FLOOR, str(log)]))
        ours = middle(arguments.runs, lambda: timed(analyze))
        start_up = middle(arguments.runs, lambda: timed([python, "-c", _START_UP]))
        explained = middle(arguments.runs, lambda: timed(everything))
        bare = middle(arguments.runs, lambda: timed([python, "-m", "pcache_cli", "--help"]))
        print(f"log                      {size:9.1f} MB")
        print(f"floor, orjson            {floor[0]:9.2f} s")
        print(
            f"pcache analyze           {ours[0]:9.2f} s   {ours[0] / floor[0]:.2f} x the floor, {size / ours[0]:.0f} MB/s"
        )
        print(f"  CPU                    {ours[1]:9.2f} s   {ours[1] / floor[1]:.2f} x the floor's")
        print(f"  start-up               {start_up[0]:9.2f} s")
        apart = ours[0] - start_up[0]
        print(f"  apart from start-up    {apart:9.2f} s   {apart / floor[0]:.2f} x the floor")
        print(f"  first run of all       {first:9.2f} s   (compiles where nothing is cached yet)")
        print(f"  peak memory            {ours[2] / 1e6:9.0f} MB")
        print(
            f"  with breakers, proven  {explained[0]:9.2f} s   {explained[0] / ours[0]:.2f} x the time without"
        )
        print(f"pcache --help            {bare[0]:9.2f} s")
        sent, distinct, speed = tree_speed(log)
        print(f"tokens sent              {sent:12,}")
        print(f"tokens distinct          {distinct:12,}   {distinct / sent:.1%}")
        print(f"prefix tree              {speed / 1e6:9.0f} million tokens/s")
        whole, once = whole_prompts(log)
        print(
            f"encoding 400 prompts     {whole:9.2f} s whole, {once:.2f} s each distinct segment once ({whole / once:.1f} x)"
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(f"(this process            {peak:9.0f} MB peak)")


if __name__ == "__main__":
    main()
