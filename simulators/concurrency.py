"""When an entry becomes readable, and what the others do meanwhile.

Engines and providers differ: vLLM lets a request scheduled later read blocks that are still being computed;
SGLang makes a prompt visible after its forward pass; providers serve an entry only once the response that
writes it has begun. Requests that arrive in between either compute the same prefix again (a stampede: the
duplicate prefills are counted) or wait for the one that builds it (single flight: the waits are counted).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.trace import NO_TIME, Int64, RequestTable

Visibility = Literal["at-once", "prefill", "first-token", "end"]
VISIBILITIES: tuple[Visibility, ...] = ("at-once", "prefill", "first-token", "end")


@dataclass(frozen=True)
class Concurrency:
    """When entries become readable: at once, after the prefill (by `prefill_tokens_per_s`), at the first token or
    at the end of the response (by the times in the log; at the first token, requests without one fall back to the
    prefill rate where it is given). `single_flight`: wait for an entry that is being built."""

    visibility: Visibility = "at-once"
    prefill_tokens_per_s: float | None = None
    single_flight: bool = False

    def check(self) -> None:
        """Raises UsageError for a setting that makes no sense."""
        rate = self.prefill_tokens_per_s
        if self.visibility not in VISIBILITIES:
            raise UsageError(f"'{self.visibility}' is not a visibility; there are {', '.join(VISIBILITIES)}")
        if rate is not None and rate <= 0:
            raise UsageError(f"a prefill rate of {rate:g} tokens/s is not possible; give a positive rate")
        if self.visibility == "prefill" and rate is None:
            raise UsageError("visibility 'prefill' needs a prefill rate in tokens per second")


def ready_times(concurrency: Concurrency, requests: RequestTable) -> Int64:
    """When each request's new entries become readable (int64 ns), NO_TIME where the prefill rate decides.

    Raises CannotEvaluateError where the log lacks the times.
    """
    rate = concurrency.prefill_tokens_per_s
    if concurrency.visibility in ("at-once", "prefill"):
        return np.full(len(requests), NO_TIME, np.int64)
    logged = requests.first_token_ns if concurrency.visibility == "first-token" else requests.end_ns
    missing = int((logged == NO_TIME).sum())
    if missing and (concurrency.visibility == "end" or rate is None):
        what = "first token" if concurrency.visibility == "first-token" else "end"
        raise CannotEvaluateError(
            f"{missing:,} of {len(requests):,} requests have no time of their {what} in the log; "
            "choose visibility 'prefill' with a prefill rate instead"
        )
    return logged
