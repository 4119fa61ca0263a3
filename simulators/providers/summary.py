"""A replay in figures: the totals beside the logged ones, why no more was read, what it would have cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from analyzers.request import Request
from analyzers.trace import MISSING, NO_TIME, Trace
from simulators.cost import Bill, PricedRow, cost_report, priced_rows
from simulators.logged_usage import logged_reads
from simulators.prices import Call, PriceBook, Tokens, UnknownPriceError
from simulators.providers.replay import MEANINGS, Agreement, Replay, Verdict
from simulators.providers.rules import Source

DEFINITIONS = {
    "read": "prompt tokens that the provider's rules let the request read, in the provider's count",
    "determined": "requests whose figure the log itself fixes to the token: earlier read + earlier write, or a "
    "tokenizer that counts as the provider does",
    "estimated": "requests whose figure rests on tokens counted here and scaled to the logged prompt",
    **{verdict.value: meaning for verdict, meaning in MEANINGS.items()},
}


@dataclass(frozen=True, slots=True)
class ReplayedRequest:
    """One request, simulated and logged, in tokens; None where not known."""

    request_id: str
    prompt_tokens: int | None
    read: int | None
    written: Mapping[int, int]
    uncached: int | None
    logged_read: int | None
    logged_written: int | None
    exact: bool
    why: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class RulesUsed:
    """The rules that were played, and the source of each fact."""

    provider: str
    model: str
    as_of: str
    cited: Mapping[str, Source]


@dataclass(frozen=True)
class ReplaySummary:
    """Totals over the requests that rules cover; `logged_*` over those of them whose log says.

    `why` counts requests by the reason that they read no more. `bills` prices the simulated tokens by currency
    (output as logged), `logged_bills` those the log states, `unpriced` counts requests without a price.
    """

    requests: int
    covered: int
    prompt_tokens: int
    read_tokens: int
    read_share: float | None
    written_tokens: Mapping[int, int]
    uncached_tokens: int
    logged_prompt_tokens: int
    logged_read_tokens: int
    logged_read_share: float | None
    logged_written_tokens: int
    why: Mapping[str, int]
    verdicts: Mapping[str, int]
    agreement: Agreement
    bills: Mapping[str, Bill]
    logged_bills: Mapping[str, Bill]
    unpriced: int
    rules: list[RulesUsed]
    notes: list[str]


def replayed_requests(trace: Trace, result: Replay) -> list[ReplayedRequest]:
    """Every request beside its log, in the trace's order."""
    table = trace.requests
    reads, uncached = logged_reads(trace), result.uncached
    found = []
    for row in range(len(trace)):
        why = result.why[row]
        found.append(
            ReplayedRequest(
                request_id=table.request_id[row],
                prompt_tokens=_known(result.prompt[row]),
                read=_known(result.read[row]),
                written={ttl: int(tokens[row]) for ttl, tokens in result.written.items() if tokens[row]},
                uncached=_known(uncached[row]) if result.read[row] >= 0 else None,
                logged_read=_known(reads[row]),
                logged_written=_known(table.usage_written[row]),
                exact=bool(result.exact[row]),
                why=None if why is None else why.value,
                verdict=result.verdicts[row],
            )
        )
    return found


def summarise_replay(
    trace: Trace, result: Replay, book: PriceBook, requests: Sequence[Request] | None = None
) -> ReplaySummary:
    """The totals of a replay and its bill at the prices of the book."""
    covered = result.read >= 0
    reads = logged_reads(trace)
    stated = covered & (reads >= 0) & (trace.requests.usage_prompt >= 0)
    rows = _priced(trace, result, book, requests)
    report = cost_report(trace, rows, None, ())
    prompt, read = int(result.prompt[covered].sum()), int(result.read[covered].sum())
    logged_prompt, logged_read = int(trace.requests.usage_prompt[stated].sum()), int(reads[stated].sum())
    return ReplaySummary(
        requests=len(trace),
        covered=int(covered.sum()),
        prompt_tokens=prompt,
        read_tokens=read,
        read_share=read / prompt if prompt else None,
        written_tokens={ttl: int(tokens.sum()) for ttl, tokens in result.written.items()},
        uncached_tokens=int(result.uncached[covered].sum()),
        logged_prompt_tokens=logged_prompt,
        logged_read_tokens=logged_read,
        logged_written_tokens=int(trace.requests.usage_written[trace.requests.usage_written > 0].sum()),
        logged_read_share=logged_read / logged_prompt if logged_prompt else None,
        why=dict(Counter(why.value for why in result.why if why is not None).most_common()),
        verdicts=dict(Counter(verdict.value for verdict in result.verdicts).most_common()),
        agreement=result.agreement,
        bills=report.bills,
        logged_bills=cost_report(trace, priced_rows(trace, requests, book), None, ()).bills,
        unpriced=report.unpriced,
        rules=[RulesUsed(r.provider, r.model, r.as_of.isoformat(), r.cited) for r in result.rules],
        notes=result.notes,
    )


def _priced(
    trace: Trace, result: Replay, book: PriceBook, requests: Sequence[Request] | None
) -> list[PricedRow]:
    """The simulated tokens with the prices of their model, day and tier."""
    table = trace.requests
    found = []
    for row in range(len(trace)):
        if result.read[row] < 0:
            continue
        model = result.what_if.model or table.model.of(row)
        usage = requests[row].usage if requests is not None else None
        time = int(table.time_ns[row])
        call = Call(
            model or "unknown",
            table.provider.of(row),
            None if time == NO_TIME else datetime.fromtimestamp(time // 10**9, UTC),
            int(result.prompt[row]),
            usage.service_tier if usage else None,
            usage.speed if usage else None,
            usage.inference_geo if usage else None,
        )
        output = max(int(table.usage_output[row]), int(table.output_tokens[row]), 0)
        tokens = Tokens(
            int(result.uncached[row]),
            int(result.read[row]),
            {ttl: int(written[row]) for ttl, written in result.written.items()},
            output,
        )
        try:
            rates = book.rates(call)
            rates.cost(tokens)
        except UnknownPriceError as problem:
            found.append(PricedRow(row, None, None, str(problem), True))
            continue
        found.append(PricedRow(row, tokens, rates, None))
    return found


def _known(value: int) -> int | None:
    return None if value == MISSING else int(value)
