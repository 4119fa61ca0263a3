"""Rewriting files: small edits that rules propose, and moves of whole pieces, each checked before it is offered.

A move is offered only where the rewritten template prints the same lines, the rules find less in it than before,
and two renderings that differ in every varying value share more tokens than before.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analyzers.errors import InputError
from analyzers.findings import Edit, Finding, Fix, Gain, Level, Safety
from analyzers.linting.run import LintRun, movable
from analyzers.rules.checking import Checks, check_source
from analyzers.templates.front_ends import Readers, read_source
from analyzers.templates.layout import Layout
from analyzers.templates.parts import Prompt, Scope, Source, Text, Value
from analyzers.templates.reading import FileText
from analyzers.templates.volatility import judge, judge_guard

LINE_ENDS, BYTE_ORDER_MARK = "PC206", "PC212"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file before and after its fixes; `fixed` counts the findings that they answer."""

    path: Path
    before: str
    after: str
    data: bytes
    fixed: int

    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{self.path.as_posix()}",
            f"b/{self.path.as_posix()}",
        )
        return "".join(
            line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
        )


def with_moves(run: LintRun, checks: Checks, readers: Readers) -> None:
    """Add to the findings of each prompt that should be laid out anew the edit that does it, and its gain."""
    sources = {source.path: source for source in run.sources}
    moves = {}
    for layout in run.layouts:
        if movable(sources[layout.path]) is None:
            continue
        found = _checked_move(sources[layout.path], layout, checks, readers)
        if found is not None:
            moves[layout.path] = found
    run.findings = [_with_move(finding, moves, sources) for finding in run.findings]


def rewrites(run: LintRun, unsafe: bool) -> list[Rewrite]:
    """The files as they are after all safe fixes, and the unsafe ones too when asked for."""
    result = []
    for source in run.sources:
        chosen = [
            finding
            for finding in run.findings
            if finding.location.path == source.path
            and finding.fix is not None
            and (finding.fix.edits or finding.rule in (LINE_ENDS, BYTE_ORDER_MARK))
            and (unsafe or finding.fix.safety is Safety.SAFE)
        ]
        if not chosen:
            continue
        edits = [edit for finding in chosen if finding.fix is not None for edit in finding.fix.edits]
        after = _edited(source.text, [edit for edit in edits if edit.path == source.path])
        rules = {finding.rule for finding in chosen}
        data = _encoded(after, source, rules)
        before = (
            source.text.replace("\n", "\r\n") if LINE_ENDS in rules and source.windows_lines else source.text
        )
        # Of mixed line ends the text no longer says which stood where, so it cannot be compared.
        if LINE_ENDS in rules or data != _encoded(source.text, source, set()):
            result.append(Rewrite(Path(source.path), before, after, data, len(chosen)))
    return result


def write(rewrite: Rewrite) -> None:
    """Replace the file in one step. Raises InputError when it cannot be written."""
    partial = rewrite.path.with_name(f".{rewrite.path.name}.pcache")
    try:
        partial.write_bytes(rewrite.data)
        partial.chmod(rewrite.path.stat().st_mode)
        partial.replace(rewrite.path)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise InputError(f"cannot write {rewrite.path}: {problem.strerror}") from None


def _encoded(text: str, source: Source, rules: set[str]) -> bytes:
    if source.windows_lines and source.windows_lines == source.line_count and LINE_ENDS not in rules:
        text = text.replace("\n", "\r\n")
    mark = b"\xef\xbb\xbf" if source.had_bom and BYTE_ORDER_MARK not in rules else b""
    return mark + text.encode("utf-8")


def _edited(text: str, edits: Sequence[Edit]) -> str:
    """The edits applied from the end; of two that overlap the later one in the file is taken, the other left
    for the next run."""
    limit = len(text) + 1
    for edit in sorted(set(edits), key=lambda edit: (edit.start, edit.end), reverse=True):
        if edit.end <= limit:
            text = text[: edit.start] + edit.text + text[edit.end :]
            limit = edit.start
    return text


def _checked_move(source: Source, layout: Layout, checks: Checks, readers: Readers) -> tuple[str, int] | None:
    """The rewritten text and the tokens it gains, None where the move is not to be offered."""
    before = movable(source)
    text = layout.rewritten()
    again = read_source(source.path, FileText(text, False, 0, text.count("\n")), readers)
    after = movable(again)
    if before is None or after is None or again.problems or _lines(before) != _lines(after):
        return None
    if _weight(check_source(again, checks)) >= _weight(check_source(source, checks)):
        return None
    scopes = checks.scopes_for(source)
    gain = shared_tokens(after, scopes, checks) - shared_tokens(before, scopes, checks)
    return (text, gain) if gain > 0 else None


def shared_tokens(prompt: Prompt, scopes: Mapping[str, Scope], checks: Checks) -> int:
    """How many tokens two renderings share from the start when everything that varies differs between them.

    Stable variables are written by their name, as their text is not known.
    """
    first, second = (_rendered(prompt, scopes, which) for which in ("A", "B"))
    end = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    return checks.count_tokens(first[:end])


def _rendered(prompt: Prompt, scopes: Mapping[str, Scope], which: str) -> str:
    written = []
    for part in prompt.parts:
        varies = any(not judge_guard(guard, scopes).stable for guard in part.guards)
        if isinstance(part, Value):
            varies = varies or not judge(part, scopes).stable
            written.append(f"{which}:{part.expression}" if varies else part.expression)
        elif isinstance(part, Text):
            written.append(f"{which}:{part.text}" if varies else part.text)
    return "".join(written)


def _lines(prompt: Prompt) -> Counter[str]:
    """The lines that the prompt prints, with the guards they stand under, whatever their order."""
    printed = []
    for part in prompt.parts:
        guards = "".join(f"[{getattr(g, 'test', '')}{getattr(g, 'over', '')}]" for g in part.guards)
        if isinstance(part, Text):
            printed.append(part.text.replace("\n", f"\n{guards}"))
        elif isinstance(part, Value):
            printed.append(f"{guards}<{part.expression}>")
    return Counter(line.strip() for line in "".join(printed).split("\n") if line.strip())


def _weight(findings: Iterable[Finding]) -> tuple[int, int]:
    """Findings of the levels that fail a run, then the tokens that all of them lose."""
    findings = list(findings)
    loud = sum(finding.level is not Level.INFO for finding in findings)
    return loud, sum(finding.tokens_lost or 0 for finding in findings)


def _with_move(
    finding: Finding, moves: Mapping[str, tuple[str, int]], sources: Mapping[str, Source]
) -> Finding:
    path = finding.location.path or ""
    stranded = finding.rule.startswith("PC1") or finding.rule in ("PC202", "PC204", "PC205")
    if (
        path not in moves
        or not stranded
        or finding.fix is None
        or finding.fix.edits
        or finding.level is Level.INFO
    ):
        return finding
    text, gain = moves[path]
    edit = Edit(path, 0, len(sources[path].text), text)
    fix = Fix(finding.fix.advice, (edit,), Safety.UNSAFE)
    return replace(finding, fix=fix, gain=Gain(gain, proven=True))
