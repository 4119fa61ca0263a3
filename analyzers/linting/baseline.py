"""A baseline: findings that were there when it was written, so that only new ones fail.

It is a ratchet: an entry whose finding is gone is reported, and updating the baseline drops it for good.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from analyzers.errors import InputError
from analyzers.findings import Finding

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Compared:
    """The findings that the baseline does not know, how many it knows, and how many of its entries are gone."""

    new: list[Finding]
    known: int
    gone: int


def fingerprint(finding: Finding) -> str:
    """What identifies a finding from run to run: its rule, file and subject, whatever the line and the loss."""
    path = PurePath(finding.location.path or "").as_posix().removeprefix("./")
    key = "\0".join((finding.rule, path, finding.location.json_path or "", " ".join(finding.subject.split())))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def compare(findings: Iterable[Finding], baseline: Path) -> Compared:
    """The findings against the baseline file. Raises InputError when it cannot be read."""
    left = _load(baseline)
    total = left.total()
    new: list[Finding] = []
    for finding in findings:
        key = fingerprint(finding)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    gone = left.total()
    return Compared(new, total - gone, gone)


def write_baseline(findings: Iterable[Finding], baseline: Path) -> int:
    """Write the findings as the new baseline; how many there are."""
    counted = Counter(
        (fingerprint(finding), finding.rule, finding.location.path or "") for finding in findings
    )
    entries = [
        {"fingerprint": key, "rule": rule, "path": PurePath(path).as_posix(), "count": count}
        for (key, rule, path), count in sorted(
            counted.items(), key=lambda item: (item[0][2], item[0][1], item[0][0])
        )
    ]
    document = {"version": _VERSION, "findings": entries}
    try:
        baseline.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {baseline}: {problem.strerror}") from None
    return counted.total()


def _load(baseline: Path) -> Counter[str]:
    try:
        document = json.loads(baseline.read_text("utf-8"))
        if document["version"] != _VERSION:
            raise InputError(
                f"{baseline} is a baseline of another version; write it anew with --update-baseline"
            )
        return Counter({str(entry["fingerprint"]): int(entry["count"]) for entry in document["findings"]})
    except FileNotFoundError:
        raise InputError(f"there is no baseline {baseline}; write it with --update-baseline") from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{baseline} is not a baseline file ({problem})") from None
