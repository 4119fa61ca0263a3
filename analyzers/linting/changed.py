"""The lines that changed since a git revision, so that only they are held against a change."""

import re
import subprocess
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

from analyzers.errors import UsageError
from analyzers.findings import Finding

_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.M)
_FILE = re.compile(rb"^\+\+\+ (?:\"?b/(.*?)\"?|/dev/null)\t?$", re.M)

Lines = dict[Path, list[range]]


def changed_lines(revision: str, folder: Path | None = None) -> Lines:
    """The changed lines of each file, new files whole. Raises UsageError outside a repository or for a revision
    that git does not know."""
    top = check_revision(revision, folder)
    command = ("diff", "--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
    lines = _parse(_git(top, *command, revision, "--"), top)
    for name in _git(top, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0"):
        if name:
            lines[top / name.decode("utf-8", "surrogateescape")] = [range(1, 1 << 31)]
    return lines


def check_revision(revision: str, folder: Path | None = None) -> Path:
    """The top folder of the repository. Raises UsageError outside of one or for a revision that git does not know."""
    place = folder or Path.cwd()
    if revision.startswith("-"):
        raise UsageError(f"'{revision}' is not a git revision")
    top = Path(_git(place, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").strip())
    _git(place, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return top


def only_changed(findings: Iterable[Finding], lines: Lines) -> list[Finding]:
    """The findings that stand on changed lines."""
    return [finding for finding in findings if _is_changed(finding, lines)]


def _is_changed(finding: Finding, lines: Lines) -> bool:
    where = finding.location
    if where.path is None:
        return False
    first, last = where.line or 1, where.end_line or where.line or 1
    return any(part.start <= last and first < part.stop for part in lines.get(Path(where.path).resolve(), []))


def _parse(diff: bytes, top: Path) -> Lines:
    lines: Lines = {}
    files = list(_FILE.finditer(diff))
    for match, following in zip_longest(files, files[1:]):
        if match[1] is None:
            continue
        stretch = diff[match.end() : following.start() if following else len(diff)]
        ranges = []
        for hunk in _HUNK.finditer(stretch):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            ranges.append(range(start, start + max(count, 1)))
        lines[(top / match[1].decode("utf-8", "surrogateescape")).resolve()] = ranges
    return lines


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("--changed needs git, which is not installed") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise UsageError(f"git {arguments[0]} failed: {said or 'no such revision'}")
    return done.stdout
