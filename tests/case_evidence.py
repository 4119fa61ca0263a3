"""The public cases as evidence: what a page expects, and what the rules find in its files."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from analyzers.breakers import Breaker, breakers_of
from analyzers.log_evidence import LogEvidence, log_evidence
from analyzers.logs import read_log
from analyzers.pipeline import TraceOptions, trace_log
from pcache_cli.lint_prices import limits_of
from tests.case_rule_ids import CASE_RULE_IDS
from tests.shared_folder import SHARED


def folder(number: int) -> Path:
    assert SHARED is not None
    return next((SHARED / "cases").glob(f"{number:02}-*"))


@cache
def expected(number: int) -> dict[str, Any]:
    block = re.search(r"```json\n(.*?)```", (folder(number) / "expected.md").read_text("utf-8"), re.S)
    assert block is not None
    value: dict[str, Any] = json.loads(block[1])
    return value


@cache
def evidence(number: int, *names: str) -> LogEvidence:
    files = [str(folder(number) / name) for name in names]
    return log_evidence(trace_log(read_log(files), TraceOptions(answers=False)), limits_of)


@cache
def breakers(number: int, *names: str) -> list[Breaker]:
    return breakers_of(evidence(number, *(names or ("requests.jsonl",))))


def only(number: int, *names: str) -> Breaker:
    """The one breaker of a case that breaks a prefix now (others may stand behind it)."""
    found = [b for b in breakers(number, *names) if b.slot is None or b.requests]
    assert len(found) == 1, [(b.finding.rule, b.finding.message) for b in found]
    return found[0]


def rule_of(number: int, key: str = "breaker") -> str:
    return CASE_RULE_IDS[expected(number)[key]]


def affected(breaker: Breaker) -> list[str]:
    return list(breaker.finding.evidence.affected_requests)


def usage(number: int, column: str, *names: str) -> list[int]:
    record = evidence(number, *(names or ("requests.jsonl",))).usage
    values: list[int] = getattr(record, column).tolist()
    return values
