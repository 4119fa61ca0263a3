"""One run of the linter over files: what was read, what was found, how the prompts should be laid out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.findings import Finding, Level
from analyzers.linting.repairs import with_repairs
from analyzers.rules.checking import Checks, check_sources
from analyzers.templates.front_ends import Readers, read_bytes, read_file
from analyzers.templates.layout import Layout, layout_of
from analyzers.templates.part_layout import part_layout
from analyzers.templates.parts import Problem, Prompt, Source

STANDARD_INPUT = "-"
ABOUT_ORDER = frozenset({"PC202", "PC204", "PC205", "PC211", *(f"PC1{number:02}" for number in range(1, 13))})
"""Rules whose findings another order of the parts would answer."""
_NEVER_REORDERED = ("request", "chat-template")


@dataclass
class LintRun:
    """Everything one run says. `hidden` counts findings that a baseline, the choice of
    changed lines, or the lowest level left out."""

    sources: list[Source]
    findings: list[Finding]
    problems: list[Problem]
    layouts: list[Layout] = field(default_factory=list)
    hidden: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def prompts(self) -> int:
        """How many prompts were found in the files."""
        return sum(len(source.prompts) for source in self.sources)

    def count(self, level: Level) -> int:
        """How many findings have this level."""
        return sum(finding.level is level for finding in self.findings)

    def at_least(self, level: Level) -> int:
        """How many findings are of this level or worse."""
        return sum(finding.level.rank <= level.rank for finding in self.findings)


def read_all(
    paths: Iterable[Path], readers: Readers, standard_input: tuple[str, bytes] | None
) -> list[Source]:
    """The files as sources, and what was given on standard input under the name it is to have."""
    sources = [read_file(path, readers) for path in paths]
    if standard_input is not None:
        sources.append(read_bytes(*standard_input, readers))
    return [with_repairs(source) for source in sources]


def lint(sources: Sequence[Source], checks: Checks) -> LintRun:
    """Check the sources and suggest a layout for each prompt that a finding concerns."""
    findings = check_sources(sources, checks)
    problems = list(dict.fromkeys(problem for source in sources for problem in source.problems))
    run = LintRun(list(sources), findings, problems)
    run.layouts = list(_layouts(sources, findings, checks))
    return run


def movable(source: Source) -> Prompt | None:
    """The prompt of a file that is one template and nothing else, so that its lines can be moved."""
    only = source.prompts[0] if len(source.prompts) == 1 else None
    return only if only is not None and only.movable else None


def drop_settled_layouts(run: LintRun) -> None:
    """Keep the suggested layouts of prompts that one of the remaining findings concerns."""
    concerned = {finding.location.path for finding in run.findings}
    kept = {
        (source.path, p.name) for source in run.sources for p in source.prompts if _is_concerned(p, concerned)
    }
    run.layouts = [layout for layout in run.layouts if (layout.path, layout.prompt) in kept]


def _layouts(sources: Sequence[Source], findings: list[Finding], checks: Checks) -> Iterable[Layout]:
    concerned = {finding.location.path for finding in findings if finding.rule in ABOUT_ORDER}
    for source in sources:
        whole = movable(source)
        for prompt in source.prompts:
            if prompt.kind in _NEVER_REORDERED or not _is_concerned(prompt, concerned):
                continue
            scopes = checks.scopes_for(source)
            layout = (
                layout_of(prompt, source.text, scopes) if prompt is whole else part_layout(prompt, scopes)
            )
            if layout.differs:
                yield layout


def _is_concerned(prompt: Prompt, paths: set[str | None]) -> bool:
    return bool(paths & {prompt.path, *(part.span.path for part in prompt.parts)})
