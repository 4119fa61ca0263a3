"""`--what-if layout=fixed`: the log with the proposed fixes applied, and what to say about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers.errors import CannotEvaluateError
from pcache_cli import console
from pcache_cli.log_source import log_behind

if TYPE_CHECKING:
    from analyzers.fixed_layout import FixedLayout
    from analyzers.pipeline import TracedLog
    from analyzers.request import Request
    from analyzers.trace import Trace

NOTHING_TO_FIX = (
    "Nothing to fix: no change of the layout that pcache proposes would let this log read more from cache."
)
MARKERS_DECIDE = (
    "the fixes alone let the provider read no more than before; "
    "add --what-if markers=best to see whether that is for want of markers in front of what varies"
)


@dataclass(frozen=True)
class PlayedLog:
    """The requests to replay, row for row those of the log. `fixed` is False where there was nothing to fix."""

    trace: "Trace"
    requests: "Sequence[Request] | None"
    fixed: bool = False
    notes: tuple[str, ...] = ()


def fixed_log(traced: "TracedLog | None", sources: Sequence[str]) -> PlayedLog:
    """The log of these files with its fixes applied. Raises CannotEvaluateError for a trace, which holds no text."""
    from analyzers.fixed_layout import trace_with_fixes

    if traced is None:
        raise CannotEvaluateError(
            "the input is a trace, which holds no text to move; "
            f"--what-if layout=fixed needs {log_behind(sources)}"
        )
    with console.progress("finding what to fix"):
        layout = trace_with_fixes(traced)
    if layout is None:
        return PlayedLog(traced.trace, traced.log.requests, notes=(NOTHING_TO_FIX.rstrip("."),))
    return PlayedLog(layout.trace, layout.requests, True, _notes(layout))


def _notes(layout: "FixedLayout") -> tuple[str, ...]:
    notes = [
        f"fixed at {fix.path} ({fix.requests:,} requests differ there): {fix.remedy}" for fix in layout.fixes
    ]
    if layout.histories_left:
        notes.append(
            f"{layout.histories_left:,} requests keep their history as logged: "
            "its messages would be written differently where others stand around them"
        )
    return tuple(notes)
