"""Findings as JUnit XML, which most CI servers show as tests: a file without findings passes."""

import re
from itertools import groupby
from xml.etree import ElementTree

from analyzers.findings import Finding, Level
from analyzers.linting.run import LintRun

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(run: LintRun, fail_level: Level | None) -> str:
    """One test suite a file; findings at `fail_level` or worse are failures, others are its output."""
    root = ElementTree.Element("testsuites", name="pcache lint")
    found = {
        path: list(group)
        for path, group in groupby(run.findings, key=lambda finding: finding.location.path or "")
    }
    problems = {problem.path for problem in run.problems}
    paths = sorted({source.path for source in run.sources} | set(found) | problems)
    totals = [0, 0, 0]
    for path in paths:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(path))
        counts = [0, 0, 0]
        for problem in (one for one in run.problems if one.path == path):
            case = _case(suite, path, "readable")
            ElementTree.SubElement(
                case, "error", message=_clean(f"line {problem.line or 1}: {problem.message}")
            )
            counts = [counts[0] + 1, counts[1], counts[2] + 1]
        for finding in found.get(path, []):
            failed = _finding(suite, path, finding, fail_level)
            counts = [counts[0] + 1, counts[1] + failed, counts[2]]
        if not counts[0]:
            _case(suite, path, "cacheable")
            counts[0] = 1
        _count(suite, counts)
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
    _count(root, totals)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _finding(suite: ElementTree.Element, path: str, finding: Finding, fail_level: Level | None) -> int:
    line = finding.location.line or 1
    case = _case(suite, path, f"{finding.rule} line {line}")
    advice = f"\n{finding.fix.advice}" if finding.fix is not None else ""
    text = _clean(f"{path}:{line}: {finding.level} {finding.rule}: {finding.message}{advice}")
    failed = fail_level is not None and finding.level.rank <= fail_level.rank
    if failed:
        inner = ElementTree.SubElement(case, "failure", type=finding.rule, message=_clean(finding.message))
    else:
        inner = ElementTree.SubElement(case, "system-out")
    inner.text = text
    return int(failed)


def _case(suite: ElementTree.Element, path: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_clean(path), name=_clean(name))


def _count(element: ElementTree.Element, counts: list[int]) -> None:
    for name, number in zip(("tests", "failures", "errors"), counts, strict=True):
        element.set(name, str(number))


def _clean(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
