"""How much memory and time `pcache trace` takes for a log larger than memory, and that a kill costs no more.

    python -m benchmarks.large_log [--size 5GB] [--jobs 1] [--log FILE]

Makes an agent log of that size in a temporary folder (or takes FILE) and prints for `pcache trace`: wall and CPU
seconds, MB/s, the largest resident memory of the command and its workers together, how much of it is the
process's own (the rest are pages of files, which the system takes back when it needs them), and the disk that
the pieces took. Then the same command is killed once half of the shards are read, and given again: what is left
to do takes so long, and whether the bytes are the same.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analyzers.shards.plan import SHARD_BYTES
from benchmarks.agent_log import agent_log
from pcache_cli.units import parse_size

_PCACHE = (sys.executable, "-c", "from pcache_cli.app import main; main()", "trace")
_EVERY_S = 0.05


@dataclass
class Peak:
    """Largest memory of a process and its children (bytes), and largest size of a folder."""

    resident: int = 0
    own: int = 0
    disk: int = 0


def _tree(process: int) -> Iterator[int]:
    yield process
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _tree(int(child))


def _memory(process: int) -> tuple[int, int]:
    """Resident and own memory of a process (bytes)."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    if "VmRSS" not in fields:  # it has ended
        return 0, 0
    kib = {name: int(fields[name].split()[0]) for name in ("VmRSS", "RssAnon")}
    return kib["VmRSS"] * 1024, kib["RssAnon"] * 1024


def _watch(process: int, folder: Path, peak: Peak, ended: threading.Event) -> None:
    while not ended.wait(_EVERY_S):
        try:
            each = [_memory(one) for one in _tree(process)]
            disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        except (OSError, ValueError):
            continue  # a process or a file went while it was looked at
        peak.resident = max(peak.resident, sum(resident for resident, _ in each))
        peak.own = max(peak.own, sum(own for _, own in each))
        peak.disk = max(peak.disk, disk)


def _trace(log: Path, output: Path, jobs: int, kill_after: int | None = None) -> tuple[float, float, Peak]:
    """Wall and CPU seconds of a run, and its peak; it is killed once so many shards are finished, if given."""
    parts = output.with_name(output.name + ".parts")
    command = [*_PCACHE, str(log), "-o", str(output), "--jobs", str(jobs), "--quiet"]
    peak, ended = Peak(), threading.Event()
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    watcher = threading.Thread(target=_watch, args=(process.pid, parts, peak, ended))
    watcher.start()
    if kill_after is not None:
        while len(list(parts.glob("shard-*/finished"))) < kill_after:
            time.sleep(_EVERY_S)
        process.send_signal(signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    ended.set()
    watcher.join()
    if status != 0 and kill_after is None:
        raise RuntimeError(f"{command} ended with status {status}")
    return wall, usage.ru_utime + usage.ru_stime, peak


def main(size: int, jobs: int, log: Path | None) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        if log is None:
            log = Path(folder) / "agents.jsonl"
            written = 0
            with log.open("w", encoding="utf-8") as file:
                for line in agent_log(sys.maxsize):
                    written += file.write(line) + file.write("\n")
                    if written >= size:
                        break
        mega = log.stat().st_size / 1e6
        output = Path(folder) / "trace.parquet"
        wall, cpu, peak = _trace(log, output, jobs)
        print(f"log of {mega:,.0f} MB, {jobs} job{'' if jobs == 1 else 's'}")
        print(f"whole run        {wall:7.1f} s, {cpu:.1f} s CPU, {mega / wall:,.0f} MB/s")
        print(
            f"memory           {peak.resident / 1e6:7,.0f} MB resident, {peak.own / 1e6:,.0f} MB of its own"
        )
        print(f"disk for pieces  {peak.disk / 1e6:7,.0f} MB; the trace {output.stat().st_size / 1e6:,.1f} MB")
        whole = output.read_bytes()
        output.unlink()
        _trace(log, output, jobs, kill_after=max(1, log.stat().st_size // SHARD_BYTES // 2))
        again, cpu_again, _ = _trace(log, output, jobs)
        same = "the same bytes" if output.read_bytes() == whole else "OTHER BYTES"
        print(
            f"after a kill     {again:7.1f} s, {cpu_again:.1f} s CPU = {cpu_again / cpu:.0%} of a whole run; {same}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=parse_size, default=parse_size("5GB"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path, default=None)
    arguments = parser.parse_args()
    main(arguments.size, arguments.jobs, arguments.log)
