"""PNG of a calibration: prefill and restore against prefix length, break-even lengths marked."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pcache_cli.reports.plotting import figure, save

if TYPE_CHECKING:
    from simulators.latency import Calibration

_SUFFIX = 64
_POINTS = 200
_SHORTEST = 1


def draw_calibration(calibration: "Calibration", path: Path) -> None:
    """Two panels on logarithmic axes: measured cells with the model through them, and time to first token by
    prefix length computed or restored."""
    drawing, (left, right) = figure(1, 2, (13, 5))
    longest = calibration.prefill.longest_total
    lengths = np.unique(np.geomspace(_SHORTEST, longest, _POINTS).astype(int))

    for cached in sorted({cell.cached for cell in calibration.prefill_cells}):
        cells = [cell for cell in calibration.prefill_cells if cell.cached == cached]
        new = lengths[lengths <= longest - cached]
        (line,) = left.plot(new, calibration.prefill_seconds(new, cached), label=f"{cached:,} cached")
        for held_out, marker in ((False, "o"), (True, "x")):
            chosen = [cell for cell in cells if cell.holdout is held_out]
            left.plot(
                [cell.new for cell in chosen],
                [cell.estimate_s for cell in chosen],
                marker,
                color=line.get_color(),
            )
    left.set(
        xscale="log",
        yscale="log",
        xlabel="new tokens",
        ylabel="prefill, seconds",
        title=f"Prefill: points measured (x held out), lines the model ({calibration.model.name})",
    )
    left.legend(fontsize="small")

    right.plot(lengths, calibration.prefill_seconds(lengths + _SUFFIX), "k", linewidth=2, label="computed")
    for tier in calibration.tiers:
        found = calibration.break_even(tier.name, new=_SUFFIX)
        mark = "never" if found.tokens is None else f"{found.tokens:,}"
        (line,) = right.plot(
            lengths,
            calibration.ttft_seconds(_SUFFIX, lengths, tier.name),
            label=f"restored from {tier.name} (break-even {mark})",
        )
        if found.tokens is not None and found.tokens <= longest:
            right.plot(
                [found.tokens],
                [calibration.prefill_seconds(found.tokens + _SUFFIX)],
                "D",
                color=line.get_color(),
            )
    right.set(
        xscale="log",
        yscale="log",
        xlabel="prefix tokens",
        ylabel=f"time to first token with {_SUFFIX} new tokens, seconds",
        title="Computing a prefix against restoring it; diamonds: break-even",
    )
    right.legend(fontsize="small")
    save(drawing, path)
