"""PNG of a simulation: curves and heat map of a sweep, classes over time of one configuration."""

from pathlib import Path
from typing import TYPE_CHECKING

from pcache_cli.reports.numbers import duration, short_count

if TYPE_CHECKING:
    from analyzers.trace import Trace
    from simulators.runs import Run, Sweep

_SLICES = 60


def plot_sweep(path: Path, sweep: "Sweep", bytes_per_token: int | None) -> None:
    """Miss-ratio curves by block size, the lifetime by capacity heat map, the working set over time."""
    import numpy as np

    from pcache_cli.reports.plotting import figure, save, time_unit

    plots, (curves, heat, working) = figure(1, 3, (16, 4.4))
    scale = 1 if bytes_per_token is None else bytes_per_token / 2**30
    unit = "tokens" if bytes_per_token is None else "GiB"
    total = max(sweep.prompt_tokens, 1)
    title = "Miss ratio (dotted: knee)" + ("" if sweep.sample is None else ", estimated from a sample")
    for size in sweep.sizes:
        room = size.capacity_blocks * size.block_size * scale
        (line,) = curves.plot(
            room, 1 - size.hit_tokens[-1] / total, marker=".", label=f"block {size.block_size}"
        )
        if size.hit_error_tokens is not None:
            error = size.hit_error_tokens[-1]
            low, high = 1 - (size.hit_tokens[-1] + error) / total, 1 - (size.hit_tokens[-1] - error) / total
            curves.fill_between(room, low, high, color=line.get_color(), alpha=0.15)
        curves.axvline(
            size.knee_blocks * size.block_size * scale, color=line.get_color(), linestyle=":", alpha=0.6
        )
    curves.set(xscale="log", xlabel=f"capacity, {unit}", ylabel="miss ratio", title=title)
    curves.set_ylim(0, 1)
    curves.legend()

    middle = sweep.sizes[len(sweep.sizes) // 2]
    shares = middle.hit_tokens / total
    image = heat.imshow(shares, aspect="auto", origin="lower", vmin=0, vmax=max(float(shares.max()), 1e-9))
    ticks = np.unique(np.linspace(0, shares.shape[1] - 1, min(7, shares.shape[1])).astype(int))
    room = middle.capacity_blocks * middle.block_size * scale
    heat.set_xticks(ticks, [short_count(room[k]) for k in ticks])
    heat.set_yticks(range(len(middle.ttl_s)), ["none" if t is None else duration(t) for t in middle.ttl_s])
    heat.set(xlabel=f"capacity, {unit}", ylabel="lifetime", title=f"Hit ratio, block {middle.block_size}")
    plots.colorbar(image, ax=heat)

    since = [window.time_ns - window.time_ns[0] for window in sweep.working_sets]
    unit_of_time, length = time_unit(max((int(ns[-1]) for ns in since), default=0))
    for window, ns in zip(sweep.working_sets, since, strict=True):
        label = f"{duration(window.window_s)} window"
        working.step(ns / length, window.peak_in_span_tokens * scale, where="post", label=label)
    working.set(xlabel=unit_of_time, ylabel=unit, title="Working set")
    if sweep.working_sets:
        working.legend()
    save(plots, path)


def plot_run(path: Path, trace: "Trace", run: "Run") -> None:
    """The classes of all prompt tokens over time, stacked."""
    import numpy as np

    from pcache_cli.reports.plotting import figure, save, time_unit
    from simulators.miss_classes import MissClass
    from simulators.miss_timeline import miss_timeline

    plots, axes = figure(1, 1, (11, 4.6))
    line = miss_timeline(trace, run.by_request, _SLICES)
    unit, length = time_unit(line.end - int(line.starts[0])) if line.timed else ("requests", 1.0)
    starts = (line.starts - line.starts[0]) / length
    widths = np.diff(starts, append=(line.end - line.starts[0]) / length)
    total = sum(line.tokens.values(), np.zeros(len(starts), np.int64))
    bottom = np.zeros(len(starts))
    for kind, colour in zip(MissClass, _colours(), strict=True):
        if kind not in line.tokens:
            continue
        share = np.divide(line.tokens[kind], total, out=np.zeros(len(starts)), where=total > 0)
        axes.bar(
            starts, share, widths, bottom, align="edge", color=colour, label=kind.value.replace("_", " ")
        )
        bottom += share
    axes.set(xlabel=unit, ylabel="share of prompt tokens", ylim=(0, 1))
    axes.set_title(f"{run.model}: why each token was computed")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(plots, path)


def _colours() -> list[str]:
    return [
        "#2a9d8f", "#e76f51", "#f4a261", "#e9c46a", "#8d99ae", "#6d597a",
        "#b5838d", "#577590", "#a8dadc", "#457b9d", "#bc6c25", "#d9d9d9",
    ]  # fmt: skip
