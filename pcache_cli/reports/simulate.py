"""`pcache simulate` for people: the verdict, then the tables. No arithmetic here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, counted, duration, percent, points, short_count
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.trace import Int64
    from simulators.latency import TtftSummary
    from simulators.runs import Run, Sweep
    from simulators.sampling import SampleAccount
    from simulators.sweep import BlockSweep, Doubling

_MOST_ROWS = 14
_CLASS_WORDS = {
    "hit": "read from cache",
    "evicted": "evicted for want of room",
    "expired": "older than the lifetime",
    "not_ready": "still being computed by another request",
    "other_replica": "on another replica",
    "invalidated": "may not be served any more",
    "restore_failed": "write or restore failed",
    "below_minimum": "below the minimum length",
    "block_tail": "rest of a block, or the last token",
    "isolation": "known in another namespace",
    "diverged": "known, behind another prefix",
    "cold": "never seen",
}


@dataclass(frozen=True)
class KvSize:
    """Bytes of a cached token and where that comes from; None where no model was named."""

    per_token: int | None = None
    source: str = ""

    def size(self, tokens: float) -> str:
        """Tokens, and their bytes where they are known."""
        if self.per_token is None:
            return short_count(tokens)
        return f"{short_count(tokens)} ({_bytes(tokens * self.per_token)})"


def print_sweep(out: "Console", sweep: "Sweep", kv: KvSize) -> None:
    """Verdict, curves and what more memory or time buys."""
    out.print(_sweep_verdict(sweep, kv))
    if sweep.sample is not None:
        out.print(_estimate(sweep, sweep.sample, kv))
    tables = [_sizes_table(sweep, kv)]
    middle = sweep.sizes[len(sweep.sizes) // 2]
    if len(middle.capacity_blocks) > 1 or len(middle.ttl_s) == 1:
        tables.append(_capacity_table(sweep, kv))
    if len(middle.ttl_s) > 1:
        tables.append(_ttl_table(sweep))
    tables.append(_doubling_table(sweep, middle, kv))
    if sweep.reuse_interval_s or sweep.working_sets:
        tables.append(_time_table(sweep, kv))
    for table in tables:
        out.print()
        out.print(table)
    twice = max(int(s.duplicate_writes.max(initial=0)) for s in sweep.sizes)
    if twice:
        out.print(
            f"At most {count(twice)} blocks at any point were computed although cached: an engine that keeps both "
            "copies (vLLM) may differ there; --engine vllm replays it exactly."
        )


def _sweep_verdict(sweep: "Sweep", kv: KvSize) -> str:
    if not sweep.prompt_tokens:
        return "The trace holds no prompt tokens: there is nothing to sweep."
    best = sweep.sizes[len(sweep.sizes) // 2]
    ceiling = percent(_ratio(best.ceiling_tokens, sweep))
    if not best.ceiling_tokens:
        return (
            f"No cache can hit anything in blocks of {best.block_size:,}: of {counted(sweep.requests, 'request')} none "
            "shares a whole block with an earlier one."
        )
    knee = kv.size(best.knee_blocks * best.block_size)
    room = f"{knee} tokens of room reach 99 % of that"
    if best.knee_blocks == best.least_blocks:
        room = f"the room that the largest request takes while it runs, {knee} tokens, reaches 99 % of that"
    return (
        f"A cache without bounds reads {ceiling} of the prompt tokens (blocks of {best.block_size}); {room}."
    )


def _estimate(sweep: "Sweep", sample: "SampleAccount", kv: KvSize) -> str:
    if sample.keeps_all:
        return (
            f"Sampled, but so large a sample keeps all {count(sample.records)} touch records: this is exact."
        )
    unclear = ""
    if sample.least_capacity_tokens:
        least = kv.size(sample.least_capacity_tokens)
        unclear = f" Where {least} tokens are named, it may be less: the sample cannot tell."
    return (
        f"Sampled at 1 in {1 / sample.rate:,.3g}: an estimate, ± {points(sweep.error_ratio)} or better in 19 cases of 20. "
        f"Kept: {count(sample.kept_records)} of {count(sample.records)} touch records "
        f"({_bytes(sample.kept_records * sample.record_bytes)}). "
        f"Exact: what a cache without bounds reads.{unclear}"
    )


def _sizes_table(sweep: "Sweep", kv: KvSize) -> FittedTable:
    table = FittedTable(
        "Block sizes (p50, p90, p99: room that so much of the hits needs)",
        "block",
        "unbounded",
        "knee (99 %)",
        "flat from",
        "p50",
        "p90",
        "p99",
        text=(),
    )
    for s in sweep.sizes:
        at = [kv.size(s.stack_distance_blocks[p] * s.block_size) for p in (0.5, 0.9, 0.99)]
        table.add_row(
            str(s.block_size),
            percent(_ratio(s.ceiling_tokens, sweep)),
            kv.size(s.knee_blocks * s.block_size),
            "unknown" if s.flat_blocks is None else kv.size(s.flat_blocks * s.block_size),
            *at,
        )
    return table


def _capacity_table(sweep: "Sweep", kv: KvSize) -> FittedTable:
    points = len(sweep.sizes[0].capacity_blocks)
    table = FittedTable(
        f"Hit ratio by capacity, {_longest(sweep.sizes[0].ttl_s)}",
        "capacity",
        *(f"block {s.block_size}" for s in sweep.sizes),
    )
    for c in _spread(points):
        first = sweep.sizes[0]
        tokens = int(first.capacity_blocks[c]) * first.block_size
        cells = []
        for s in sweep.sizes:
            errors = None if s.hit_error_tokens is None else s.hit_error_tokens[-1]
            cells.append(_hit_ratio(s.hit_tokens[-1], errors, c, sweep))
        table.add_row(kv.size(tokens), *cells)
    return table


def _hit_ratio(hits: "Int64", errors: "Int64 | None", at: int, sweep: "Sweep") -> str:
    ratio = percent(_ratio(int(hits[at]), sweep))
    return ratio if errors is None else f"{ratio} ± {points(_ratio(int(errors[at]), sweep))}"


def _ttl_table(sweep: "Sweep") -> FittedTable:
    ttls = sweep.sizes[0].ttl_s
    table = FittedTable(
        "Hit ratio by lifetime, room without end", "ttl", *(f"block {s.block_size}" for s in sweep.sizes)
    )
    for t in _spread(len(ttls)):
        shares = [_hit_ratio(s.unbounded_hit_tokens, s.unbounded_error_tokens, t, sweep) for s in sweep.sizes]
        table.add_row(_lifetime(ttls[t]), *shares)
    return table


def _doubling_table(sweep: "Sweep", size: "BlockSweep", kv: KvSize) -> FittedTable:
    table = FittedTable(
        f"What each doubling buys (blocks of {size.block_size})",
        "room",
        "hit ratio",
        "gain",
        "lifetime",
        "hit ratio",
        "gain",
    )
    room, time = list(size.capacity_doublings)[-_MOST_ROWS:], list(size.ttl_doublings)[-_MOST_ROWS:]
    for k in range(max(len(room), len(time))):
        left = _doubling(room, k, sweep, lambda value: kv.size(value * size.block_size))
        table.add_row(*left, *_doubling(time, k, sweep, duration))
    return table


def _doubling(steps: "Sequence[Doubling]", k: int, sweep: "Sweep", show) -> list[str]:  # type: ignore[no-untyped-def]
    if k >= len(steps):
        return ["", "", ""]
    step = steps[k]
    gained = "" if step.gained_tokens is None else f"+{percent(_ratio(step.gained_tokens, sweep))}"
    return [show(step.value), percent(_ratio(step.hit_tokens, sweep)), gained]


def _time_table(sweep: "Sweep", kv: KvSize) -> FittedTable:
    table = FittedTable("Over time", "", "p50", "p90", "p99", "largest")
    if sweep.reuse_interval_s:
        known = sweep.reuse_interval_s
        at = [duration(known[p]) if p in known else "unknown" for p in (0.5, 0.9, 0.99, 1.0)]
        table.add_row("time between uses of a hit token", *at)
    for w in sweep.working_sets:
        label = f"working set of {duration(w.window_s)}"
        table.add_row(label, kv.size(w.median_tokens), "", "", kv.size(w.peak_tokens))
    return table


def print_run(
    out: "Console", run: "Run", kv: KvSize, by_field: dict[str, int], ttft: "TtftSummary | None"
) -> None:
    """Verdict, why the rest missed, and what the replay counted."""
    out.print(run_verdict(run))
    out.print(f"{run.rules} ({run.standing})", style="dim")
    settings = ", ".join(
        f"{name} {_setting(value)}" for name, value in run.settings.items() if value not in (None, False, [])
    )
    out.print(plain(settings), style="dim")
    if run.capacity_tokens is not None and kv.per_token is not None:
        out.print(f"capacity: {kv.size(run.capacity_tokens)}", style="dim")
    out.print()
    table = FittedTable("Every prompt token", "class", "tokens", "share")
    for kind, tokens in run.by_request.totals().items():
        if tokens:
            words = _CLASS_WORDS[kind]
            if kind == "cold" and not run.by_request.diverged_known:
                words = "never seen, or known behind another prefix"
            table.add_row(words, count(tokens), percent(tokens / run.prompt_tokens))
    table.add_row("all prompt tokens", count(run.prompt_tokens), "100 %", style="bold")
    out.print(table)
    for field, tokens in by_field.items():
        out.print(f"kept apart by {plain(field)}: {count(tokens)} tokens")
    if run.duplicate_writes:
        out.print(f"Blocks computed although a copy was cached: {count(run.duplicate_writes)}.")
    if run.replay is not None:
        _print_replay(out, run, kv)
    if ttft is not None:
        out.print(
            f"Time to first token of {plain(ttft.model)} on {plain(ttft.machine)} ({ttft.provenance}, prefill and "
            f"restore only): "
            f"p50 {duration(ttft.p50_without_s)} → {duration(ttft.p50_with_s)}, "
            f"p95 {duration(ttft.p95_without_s)} → {duration(ttft.p95_with_s)}."
        )
    for note in run.notes:
        out.print(f"note: {plain(note)}", style="dim")


def run_verdict(run: "Run") -> str:
    """The answer in one sentence."""
    if run.hit_token_ratio is None:
        return "The trace holds no prompt tokens: there is nothing to read."
    unbounded = run.unbounded_hit_tokens / run.prompt_tokens
    return (
        f"{percent(run.hit_token_ratio)} of the prompt tokens are read from cache "
        f"({percent(unbounded)} with room and time without end); "
        f"{count(run.requests_with_hits)} of {count(run.requests)} requests hit."
    )


def _print_replay(out: "Console", run: "Run", kv: KvSize) -> None:
    from dataclasses import asdict

    assert run.replay is not None
    counted = {name: value for name, value in asdict(run.replay.counters).items() if value}
    out.print("blocks: " + ", ".join(f"{count(v)} {n.replace('_', ' ')}" for n, v in counted.items()))
    waited = int(run.replay.waited_ns.sum()) / 1e9
    if waited:
        out.print(f"requests waited {duration(waited)} in all for another one's prefill")
    if len(run.replay.tiers) > 1:
        table = FittedTable("Tiers", "tier", "blocks", "hit blocks", "moved in", "moved out")
        for tier in run.replay.tiers:
            moved = [
                _moved(tier.moved_in_blocks, tier.bytes_in),
                _moved(tier.moved_out_blocks, tier.bytes_out),
            ]
            table.add_row(plain(tier.name), count(tier.capacity_blocks), count(tier.hit_blocks), *moved)
        out.print()
        out.print(table)
        out.print()
    for event in run.replay.invalidations:
        places = ", ".join(
            f"{reach.blocks:,} in {reach.tier}"
            + ("" if reach.replica is None else f" of replica {reach.replica}")
            for reach in event.reached
        )
        out.print(
            plain(
                f"{event.event.kind}: {event.requests:,} requests, {event.blocks:,} blocks; deleted {places or 'nothing'}"
            )
        )


def _moved(blocks: int, size: int | None) -> str:
    return count(blocks) if size is None else f"{count(blocks)} ({_bytes(size)})"


def _setting(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _ratio(tokens: int, sweep: "Sweep") -> float | None:
    return tokens / sweep.prompt_tokens if sweep.prompt_tokens else None


def _longest(ttls: "Sequence[float | None]") -> str:
    """The lifetime that holds where only one is shown: the last, which is the longest."""
    words = "no expiry" if ttls[-1] is None else f"a lifetime of {duration(ttls[-1])}"
    return words if len(ttls) == 1 else f"{words} (the longest)"


def _lifetime(ttl: float | None) -> str:
    return "no expiry" if ttl is None else duration(ttl)


def _bytes(size: float) -> str:
    for limit, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size:.0f} B"


def _spread(points: int) -> list[int]:
    """At most _MOST_ROWS indices of `points`, first and last among them."""
    if points <= _MOST_ROWS:
        return list(range(points))
    return sorted({round(k * (points - 1) / (_MOST_ROWS - 1)) for k in range(_MOST_ROWS)})


def run_document(run: "Run") -> dict[str, object]:
    """A run as it stands in JSON: its figures by class, without the rows of single requests."""
    replay = run.replay
    return {
        "configuration": {
            "model": run.model,
            "standing": run.standing,
            "rules": run.rules,
            "settings": dict(run.settings),
            "capacity_tokens": run.capacity_tokens,
            "notes": list(run.notes),
        },
        "requests": run.requests,
        "prompt_tokens": run.prompt_tokens,
        "hit_tokens": run.hit_tokens,
        "hit_token_ratio": run.hit_token_ratio,
        "requests_with_hits": run.requests_with_hits,
        "unbounded_hit_tokens": run.unbounded_hit_tokens,
        "duplicate_writes": run.duplicate_writes,
        "tokens_by_class": run.by_request.totals(),
        "replay": None
        if replay is None
        else {"counters": replay.counters, "tiers": replay.tiers, "invalidations": replay.invalidations},
    }
