"""The accounting rules run over a log, with the prices of a price book."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from analyzers.findings import Finding
from analyzers.request import Log, Request
from analyzers.rules.registry import all_rules
from analyzers.rules.usage_audit import RateList, UsageAudit
from simulators.prices import Call, PriceBook, UnknownPriceError


def audit_usage(log: Log, book: PriceBook) -> list[Finding]:
    """What the accounting rules find in the usage rows of a log, errors first."""
    audit = UsageAudit(log.requests, log.merged, _rates(book, _call), _rates(book, _plain_call))
    findings = [finding for rule in all_rules().values() if rule.usage for finding in rule.usage(audit)]
    return sorted(findings, key=lambda finding: (finding.level.rank, finding.rule))


def _rates(book: PriceBook, call: Callable[[Request], Call]) -> Callable[[Request], RateList | None]:
    def rates(request: Request) -> RateList | None:
        try:
            return book.rates(call(request))
        except UnknownPriceError:
            return None

    return rates


def _call(request: Request) -> Call:
    usage = request.usage
    moment = None if request.time_ns is None else datetime.fromtimestamp(request.time_ns // 10**9, UTC)
    if usage is None:
        return Call(request.model or "", request.provider, moment)
    prompt = usage.prompt_tokens or 0
    return Call(
        request.model or "",
        request.provider,
        moment,
        prompt,
        usage.service_tier,
        usage.speed,
        usage.inference_geo,
    )


def _plain_call(request: Request) -> Call:
    return replace(_call(request), prompt_tokens=0, tier=None, speed=None, region=None)
