"""PNG of reuse: how long reusable prefixes are, and the share of reusable tokens over time."""

from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.trace import MISSING, NO_TIME

if TYPE_CHECKING:
    from analyzers.reuse import RequestReuse
    from analyzers.trace import Trace

_SLICES = 60


def plot_reuse(path: Path, trace: "Trace", reuse: "RequestReuse") -> None:
    """Draw two panels into a PNG."""
    import numpy as np

    from pcache_cli.reports.plotting import figure, save, time_unit

    plots, (lengths, over_time) = figure(1, 2, (12, 4.2))
    lengths.hist(
        [reuse.reusable, reuse.prompt], bins=50, histtype="step", label=["reusable prefix", "prompt"]
    )
    lengths.set(xlabel="tokens", ylabel="requests", title="Length of prompts and of their reusable prefixes")
    lengths.legend()

    timed = (trace.requests.time_ns != NO_TIME).all() and len(trace) > 1
    elapsed = trace.requests.time_ns - trace.requests.time_ns[:1]
    unit, length = time_unit(int(elapsed[-1]) if timed else 0)
    place = elapsed / length if timed else np.arange(len(trace))
    edges = np.linspace(place[0], max(place[-1], place[0] + 1e-9), _SLICES + 1)
    slices = np.clip(np.digitize(place, edges) - 1, 0, _SLICES - 1)
    total = np.bincount(slices, reuse.prompt, _SLICES)
    bottom = np.zeros(_SLICES)
    split = (
        [("reusable", reuse.reusable)]
        if (reuse.same_conversation == MISSING).any()
        else [
            ("same conversation", reuse.same_conversation),
            ("across conversations", reuse.across_conversations),
        ]
    )
    if (reuse.seen_elsewhere != MISSING).all():
        split.append(("seen before, not reachable", reuse.seen_elsewhere))
    for label, tokens in split:
        share = np.divide(np.bincount(slices, tokens, _SLICES), total, out=np.zeros(_SLICES), where=total > 0)
        over_time.bar(edges[:-1], share, np.diff(edges), bottom, align="edge", label=label)
        bottom += share
    over_time.set(
        xlabel=f"{unit} since the first request" if timed else "request",
        ylabel="share of prompt tokens",
        ylim=(0, 1),
    )
    over_time.set_title("Reuse over time")
    over_time.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False)
    save(plots, path)
