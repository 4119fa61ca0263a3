"""`pcache probe` for people: what restoring saves, the tables behind it, the checks. No arithmetic here."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pcache_cli import console
from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, counted, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from gpu_probe.experiment import SharedPrefix
    from gpu_probe.shapes import Shape
    from simulators.calibration import Check
    from simulators.latency import BreakEven, Calibration

_SUFFIX = 64


def show_calibration(calibration: "Calibration", path: Path) -> None:
    """The whole report on stdout: verdict, prefill, restore by tier, checks, warnings, what to do next."""
    screen = console.stdout_console()
    screen.print(plain(verdict(calibration)), style="bold")
    for line in _facts(calibration):
        screen.print(plain(line))
    screen.print()
    _show_prefill(screen, calibration)
    _show_tiers(screen, calibration)
    _show_checks(screen, calibration)
    for warning in calibration.warnings:
        screen.print(f"[yellow]warning[/]: {plain(warning)}")
    state = "" if calibration.trusted else " (not to be trusted: see above)"
    screen.print(f"Calibration written to {plain(str(path))}{state}.")
    console.note(f"Next: pcache simulate LOG --block-size 16 --capacity none --calibration {path}")


def verdict(calibration: "Calibration") -> str:
    """The answer in one sentence."""
    longest = calibration.longest_measured_prefix(_SUFFIX)
    failed = [check for check in calibration.checks if not check.passed]
    if failed:
        return f"Restored KV of {calibration.model.name} is WRONG here: {failed[0].name} failed."
    saved, tier = max(
        (
            (float(calibration.ttft_saved_seconds(_SUFFIX, longest, tier.name)), tier.name)
            for tier in calibration.tiers
            if tier.logit_error == 0
        ),
        default=(None, None),
    )
    if saved is None or tier is None:
        return f"{calibration.model.name}: prefill was measured, no tier was."
    if saved <= 0:
        return f"Restoring KV never beats computing it here up to {count(longest)} tokens of prefix."
    full = float(calibration.prefill_seconds(longest + _SUFFIX))
    return (
        f"A kept prefix of {count(longest)} tokens brings the first token {show_seconds(saved)} earlier than the "
        f"{show_seconds(full)} of computing it (tier {tier}, {calibration.model.name}, verified)."
    )


def show_seconds(seconds: float) -> str:
    """Microseconds, milliseconds or longer, three digits."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else duration(seconds)


def show_bytes(size: float) -> str:
    """Bytes in binary units, three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 999.5 or unit == "GiB":
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def _facts(calibration: "Calibration") -> list[str]:
    model, machine, kv = calibration.model, calibration.machine, calibration.kv
    window = f" plus {show_bytes(kv.per_token_window)} within {kv.window}" if kv.window is not None else ""
    fixed = f" plus {show_bytes(kv.fixed)} whatever the length" if kv.fixed else ""
    agrees = {True: "as the formula says", False: "NOT as the formula says", None: "no formula to compare"}
    noise = f", wall ÷ CPU time {machine.noise:.2f}" if machine.noise is not None else ""
    peak = calibration.peak_memory_bytes
    memory = f"; peak memory {show_bytes(peak)}" if peak is not None else ""
    return [
        f"{model.name}: {count(model.parameters)} parameters ({model.weights} weights), {model.dtype}, "
        f"{model.attention} attention, {model.geometry.layers} layers{memory}.",
        f"Machine: {machine.device_name}, {counted(machine.threads, 'thread')}, {machine.clock}{noise}.",
        f"KV: {show_bytes(kv.per_token_full)} a token{window}{fixed}, counted from tensors, "
        f"{agrees[kv.formula_agrees]}.",
    ]


def _show_prefill(screen: "Console", calibration: "Calibration") -> None:
    from rich import box
    from rich.table import Table

    fitted = calibration.prefill
    screen.print(
        f"Prefill model: {percent(fitted.holdout.median)} median, {percent(fitted.holdout.worst)} worst error on "
        f"{fitted.holdout.cells} held-out cells; kernel {fitted.kernel}; terms "
        + ", ".join(f"{term.feature} {term.seconds:.3g} s" for term in fitted.terms)
        + (f", floor {show_seconds(fitted.floor_s)}." if fitted.floor_s else ".")
    )
    table = Table(
        title="Prefill from nothing and held-out cells (all cells are in the calibration)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for heading in ("new", "cached", "measured", "model", "tokens/s", "samples", "peak memory"):
        table.add_column(heading, justify="right")
    for cell in calibration.prefill_cells:
        if cell.cached and not cell.holdout:
            continue
        table.add_row(
            count(cell.new),
            count(cell.cached),
            show_seconds(cell.estimate_s),
            show_seconds(float(calibration.prefill_seconds(cell.new, cell.cached)))
            + (" held out" if cell.holdout else ""),
            count(round(cell.new / cell.estimate_s)),
            count(len(cell.seconds)),
            "-" if cell.peak_bytes is None else show_bytes(cell.peak_bytes),
        )
    screen.print(table)


def _show_tiers(screen: "Console", calibration: "Calibration") -> None:
    from rich.table import Table

    longest = calibration.longest_measured_prefix(_SUFFIX)
    table = Table(
        title=f"Restoring {count(longest)} tokens, then {_SUFFIX} new ones",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for heading in (
        "tier",
        "bytes",
        "latency",
        "restore",
        "rate",
        "store",
        "TTFT",
        "saved",
        "break-even",
        "logit error",
    ):
        table.add_column(heading, justify="left" if heading == "tier" else "right")
    for tier in calibration.tiers:
        size = float(calibration.kv_bytes(longest)) * tier.stored_bytes_ratio
        restore = float(calibration.restore_seconds(longest, tier.name))
        store = calibration.store_seconds(longest, tier.name)
        table.add_row(
            plain(tier.name),
            show_bytes(size),
            show_seconds(tier.restore.fixed_s),
            show_seconds(restore),
            f"{size / restore / 1e9:.3g} GB/s",
            "-" if store is None else show_seconds(float(store)),
            show_seconds(float(calibration.ttft_seconds(_SUFFIX, longest, tier.name))),
            show_seconds(float(calibration.ttft_saved_seconds(_SUFFIX, longest, tier.name)))
            + mark(calibration.provenance(_SUFFIX, longest, tier.name)),
            show_break_even(calibration.break_even(tier.name, new=_SUFFIX)),
            "exact" if tier.logit_error == 0 else f"{tier.logit_error or 0:.2g} σ",
        )
    screen.print(table)
    screen.print("* projected: outside the measured lengths; the rest lies within them.", style="dim")
    for cell in calibration.overlap_cells:
        screen.print(
            f"{cell.tier}, {count(cell.cached)} restored while {count(cell.new)} are computed: "
            f"{show_seconds(cell.overlapped_s)} overlapped, {show_seconds(cell.sequential_s)} one after the other."
        )


def show_break_even(found: "BreakEven") -> str:
    """Tokens and how it is known."""
    if found.tokens is None:
        return f"> {count(found.searched_to)} *"
    return count(found.tokens) + mark(found.provenance)


def mark(provenance: str) -> str:
    """A star for what is projected."""
    return "" if provenance == "measured" else " *"


def _show_checks(screen: "Console", calibration: "Calibration") -> None:
    intact = [check.name.rpartition(":")[0] for check in calibration.checks if _is_intact_tier(check)]
    if intact:
        screen.print(f"[green]passed[/] bytes equal after a round trip: {plain(', '.join(intact))}")
    for check in calibration.checks:
        if _is_intact_tier(check):
            continue
        state = "[green]passed[/]" if check.passed else "[red]FAILED[/]"
        error = "" if check.error is None else f": error {check.error:.2g}, allowed {check.tolerance:.2g}"
        detail = f" ({check.detail})" if check.detail else ""
        screen.print(f"{state} {plain(check.name + error + detail)}", soft_wrap=True)


def _is_intact_tier(check: "Check") -> bool:
    return check.passed and check.name.startswith("tier ")


def show_experiment(result: "SharedPrefix") -> None:
    """The experiment's verdict and its table."""
    from rich.table import Table

    screen = console.stdout_console()
    screen.print(
        f"{count(result.requests)} requests sharing {count(result.prefix)} tokens took "
        f"{show_seconds(result.without.total_s)} without reuse and {show_seconds(result.reuse.total_s)} with it: "
        f"{result.speedup:.2f} times faster (measured, {plain(result.model.name)}).",
        style="bold",
    )
    if result.requests < result.requests_asked:
        screen.print(
            f"Interrupted after {count(result.requests)} of {count(result.requests_asked)} requests."
        )
    table = Table()
    for heading in ("", "total", "prefix once", "TTFT p50", "TTFT p95", "computed tokens", "peak memory"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, side in (("without reuse", result.without), ("with reuse", result.reuse)):
        table.add_row(
            name,
            show_seconds(side.total_s),
            show_seconds(side.prefix_s) if side.prefix_s else "-",
            show_seconds(side.p50_ttft_s),
            show_seconds(side.p95_ttft_s),
            count(side.computed_tokens),
            show_bytes(side.peak_bytes),
        )
    screen.print(table)
    memory = "torch's allocator" if result.machine.device == "cuda" else "the whole process, sampled"
    screen.print(
        f"First tokens alike: {count(result.same_first_token)} of {count(result.requests)}. The kept prefix takes "
        f"{show_bytes(result.kv_bytes)}. Peak memory is that of {memory}. Clock: {result.machine.clock}, "
        f"{counted(result.machine.threads, 'thread')}, {plain(result.machine.device_name)}."
    )


def show_shapes(shapes: "Sequence[Shape]") -> None:
    """The catalogue."""
    from rich.table import Table

    table = Table("shape", "what it is")
    for shape in shapes:
        table.add_row(shape.name, plain(shape.about))
    console.stdout_console().print(table)
