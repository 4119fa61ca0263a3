"""How fast sweeps, engines and policies are, and how they compare with the PyPI package kvcache-simulator.

    python -m benchmarks.sweep [--requests 20000] [--trace FILE.parquet] [--peer]

Makes an agent log, turns it into a trace (or takes one made by `pcache trace`), and prints: seconds to load it;
the sweep of 7 block sizes x 64 capacities x 32 lifetimes, in a fresh process that compiles and in one that does not,
and again within the process; requests and block accesses per second of every engine and policy. `--peer` exports
the trace hashed at 16, runs kvcache-simulator on it (pip install kvcache-simulator; needs g++) and compares its LRU
figures and times with the same question asked here. CPU seconds throughout, so that a busy machine counts less.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np

from analyzers.trace import Trace

BLOCK_SIZES = (1, 16, 32, 64, 128, 256, 512)
PEER_BUDGETS_GIB = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
PEER_MODEL = "qwen3-8b"

Answer = TypeVar("Answer")


def timed(work: Callable[[], Answer]) -> tuple[Answer, float]:
    """What the work returns, and its CPU seconds."""
    begin = time.process_time()
    answer = work()
    return answer, time.process_time() - begin


def sweep_grid(trace: Trace, block_sizes: tuple[int, ...] = BLOCK_SIZES) -> int:
    """The whole grid; returns the number of points."""
    from simulators.blocks import cached_sequences
    from simulators.grids import Capacities
    from simulators.runs import run_sweep
    from simulators.sweep import least_blocks

    sequences = cached_sequences(trace)
    largest = least_blocks(sequences, max(block_sizes)) * max(block_sizes)
    total = int(sequences.total_tokens.sum())
    tokens = np.geomspace(largest, max(total, largest + 64), 64).astype(np.int64)
    lifetimes = [float(t) for t in np.geomspace(1, 86400, 31)]
    capacities = Capacities("tokens", tuple(tokens.tolist()))
    result = run_sweep(trace, block_sizes, capacities, [*lifetimes, None], None)
    return sum(size.hit_tokens.size for size in result.sizes)


def child(trace: Path) -> None:
    """What a fresh process needs for one sweep: printed as JSON."""
    from analyzers.trace_file import load_trace

    loaded, load_s = timed(lambda: load_trace(str(trace)))
    points, sweep_s = timed(lambda: sweep_grid(loaded))
    again = [timed(lambda: sweep_grid(loaded))[1] for _ in range(5)]
    print(json.dumps({"load_s": load_s, "points": points, "sweep_s": sweep_s, "again_s": median(again)}))


def in_fresh_process(trace: Path, cache: str) -> dict[str, float]:
    """The figures of `child` with compiled code kept in the folder `cache`, and the process's own CPU seconds."""
    command = [sys.executable, "-m", "benchmarks.sweep", "--child", str(trace)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("the measured process failed")
    figures: dict[str, float] = json.loads(output)
    return figures


def print_replays(trace: Trace) -> None:
    """Requests and block accesses per second of every engine and policy, after compiling."""
    from simulators.blocks import cached_sequences
    from simulators.engines import ENGINES, replay_engine
    from simulators.policies import POLICIES
    from simulators.replay import replay
    from simulators.replay_settings import ReplaySettings
    from simulators.sweep import least_blocks

    sequences = cached_sequences(trace)
    accesses = int((sequences.known_tokens // 16).sum())
    blocks = max(least_blocks(sequences, 16), 16384)
    options: dict[str, dict[str, float]] = {
        "vllm": {"num-gpu-blocks": blocks + 1},
        "vllm-0.11": {"num-gpu-blocks": blocks + 1},
        "sglang": {"max-total-tokens": blocks * 16, "page-size": 16},
        "trtllm-like": {"num-blocks": blocks, "tokens-per-block": 16},
        "llamacpp-slots": {"parallel": 8},
        "mooncake": {"num-objects": blocks, "block-size": 16},
    }
    print(f"\n{accesses:,} accesses to blocks of 16 tokens, room for {blocks:,} blocks")
    for name in ENGINES:
        replay_engine(name, sequences, trace.requests, options[name])
        run, seconds = timed(lambda n=name: replay_engine(n, sequences, trace.requests, options[n]))  # type: ignore[misc]
        _print_speed(name, len(trace), accesses, seconds, int(run.hit_tokens.sum()))
    for name in POLICIES:
        settings = ReplaySettings(block_size=16, capacity_blocks=blocks, policy=name)
        replay(trace, settings)
        result, seconds = timed(lambda s=settings: replay(trace, s))  # type: ignore[misc]
        _print_speed(f"policy {name}", len(trace), accesses, seconds, int(result.hit_tokens.sum()))


def _print_speed(name: str, requests: int, accesses: int, seconds: float, hits: int) -> None:
    print(
        f"{name:18} {seconds:7.3f} s  {requests / seconds:12,.0f} requests/s  {accesses / seconds / 1e6:7.1f} M "
        f"blocks/s  {hits:,} hit tokens"
    )


_PEER = """
import json, os, sys
from kvcache_sim.simulator import run_sweep
from kvcache_sim.trace import parse_trace_file
trace = parse_trace_file(sys.argv[1], block_size=16)
run_sweep(trace, model_id=sys.argv[2], budgets_gib=[1.0], policies=["lru"])  # compiles
begin = sum(os.times()[:4])
result = run_sweep(trace, model_id=sys.argv[2], budgets_gib=json.loads(sys.argv[3]))
print(json.dumps({"sweep_s": sum(os.times()[:4]) - begin, "result": result}))
"""


def compare_with_peer(trace: Trace, parquet: Path, folder: Path) -> None:
    """Times and LRU figures beside kvcache-simulator's, on whole prompt blocks of 16 tokens."""
    from analyzers.hash_export import block_ids
    from simulators.blocks import cached_sequences
    from simulators.stack_records import stack_records
    from simulators.sweep import hits_by_request, least_blocks
    from simulators.touch_records import touches

    hashed = folder / "hashed.jsonl"
    with hashed.open("w") as file:
        for ids, length in zip(block_ids(trace, 16), trace.requests.prompt_tokens.tolist(), strict=True):
            whole = length // 16
            row = {"input_length": whole * 16, "block_size": 16, "hash_ids": ids[:whole].tolist()}
            file.write(json.dumps(row) + "\n")
    budgets = json.dumps(PEER_BUDGETS_GIB)
    output = subprocess.run(
        [sys.executable, "-c", _PEER, str(hashed), PEER_MODEL, budgets], stdout=subprocess.PIPE, check=True
    ).stdout
    peer = json.loads(output)
    words = ["run", "--trace", str(hashed), "--model", PEER_MODEL, "--block-size", "16", "--format", "json"]
    peer_whole = _whole_process([sys.executable, "-m", "kvcache_sim", *words])
    grid = ["--block-size", "16", "--capacity", f"{_largest(trace)}tokens..100Mtokens:64"]
    ours_whole = _whole_process(
        [sys.executable, "-m", "pcache_cli", "simulate", str(parquet), *grid, "--ttl", "1s..24h:32", "--json"]
    )
    sweep_s = median(timed(lambda: sweep_grid(trace, (16,)))[1] for _ in range(5))
    points = sum(len(point["results"]) for point in peer["result"]["points"])
    print(
        f"\nkvcache-simulator: {points} points in {peer['sweep_s']:.2f} s, whole process {peer_whole:.2f} s"
    )
    print(f"pcache: 2,048 points in {sweep_s:.3f} s, whole process {ours_whole:.2f} s")
    print(
        f"sweep {peer['sweep_s'] / sweep_s:.0f} x faster, whole process {peer_whole / ours_whole:.1f} x faster"
    )

    # The peer has no last-token rule, knows no outputs, and counts the second half of the requests: a prompt that
    # ends one token behind its whole blocks reads them all, and that token's place is one block more.
    sequences = cached_sequences(trace, ignore_outputs=True)
    prompt = sequences.prompt_tokens // 16 * 16 + 1
    sequences = replace(sequences, prompt_tokens=prompt, total_tokens=prompt)
    touched = touches(sequences, trace.requests)
    records = stack_records(sequences, touched, 16)
    half = len(trace) // 2
    for point in peer["result"]["points"]:
        if point["cacheBlocks"] < least_blocks(sequences, 16):
            continue  # too small for the largest request, which the two then treat differently
        hits = hits_by_request(records, touched, point["cacheBlocks"] + 1, None)[half:].sum()
        ours = hits / (prompt - 1)[half:].sum()
        theirs = point["results"]["lru"]["hitRate"]
        print(f"LRU at {point['cacheBlocks']:>9,} blocks: {ours:.9f} here, {theirs:.9f} there")


def _whole_process(command: list[str]) -> float:
    """CPU seconds of a command and what it started."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def _largest(trace: Trace) -> int:
    from simulators.blocks import cached_sequences

    return int(cached_sequences(trace).total_tokens.max()) + 16


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--trace", type=Path, help="a trace made by `pcache trace`, instead of a new log")
    parser.add_argument("--peer", action="store_true", help="compare with kvcache-simulator")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet = options.trace or folder / "trace.parquet"
        if options.trace is None:
            from benchmarks.agent_log import write_agent_log

            log = folder / "log.jsonl"
            write_agent_log(log, options.requests)
            make = [sys.executable, "-m", "pcache_cli", "trace", str(log), "-o", str(parquet)]
            subprocess.run(make, check=True)
        from analyzers.trace_file import load_trace

        trace = load_trace(str(parquet))
        print(f"{len(trace):,} requests, {int(trace.requests.prompt_tokens.sum()):,} prompt tokens")
        cache = str(folder / "compiled")
        for label in ("first process, compiling", "next process"):
            figures = in_fresh_process(parquet, cache)
            print(
                f"{label}: load {figures['load_s']:.3f} s, {figures['points']:,} points in {figures['sweep_s']:.3f} s, "
                f"again {figures['again_s']:.3f} s"
            )
        print_replays(trace)
        if options.peer:
            compare_with_peer(trace, parquet, folder)


if __name__ == "__main__":
    main()
