"""What only the content of a log can tell a simulation about the tokens that it misses."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzers.pipeline import TracedLog
    from analyzers.trace import Int64, Trace
    from simulators.runs import Content


def content_of(
    trace: "Trace", traced: "TracedLog | None", ignore_outputs: bool
) -> "tuple[Content, dict[str, int]]":
    """What the content says about tokens that were not seen as a prefix, and the tokens that each namespace field
    keeps apart. Without the log (`traced` None), only what its trace kept."""
    from analyzers.isolation import isolated_tokens
    from analyzers.seen import tokens_seen_elsewhere
    from simulators.blocks import cached_sequences
    from simulators.runs import Content

    if traced is None:
        return Content(seen_elsewhere=trace.requests.seen_elsewhere), {}
    seen = cached_sequences(trace, ignore_outputs=ignore_outputs).seen_tokens()
    isolation = isolated_tokens(traced, seen)
    elsewhere: Int64 = trace.requests.seen_elsewhere
    if trace.info.unit == 1:
        elsewhere = tokens_seen_elsewhere(traced.sequences, traced.chunks, trace.requests.namespace, seen)
    return Content(isolation.tokens, elsewhere), isolation.by_field
