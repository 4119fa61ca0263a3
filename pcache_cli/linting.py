"""What `pcache lint` does with its options and settings: read, check, compare, fix, report."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import InputError, UsageError
from analyzers.findings import Level, in_order
from analyzers.linting.baseline import compare, write_baseline
from analyzers.linting.changed import changed_lines, check_revision, only_changed
from analyzers.linting.discovery import find_files
from analyzers.linting.fixes import Rewrite, rewrites, with_moves, write
from analyzers.linting.lock import check_lock, prefixes, write_lock
from analyzers.linting.run import STANDARD_INPUT, LintRun, drop_settled_layouts, lint, read_all
from analyzers.rules.checking import Checks, ModelLimits
from analyzers.rules.registry import select_rules
from analyzers.templates.front_ends import Readers
from analyzers.templates.parts import Scope, Source
from pcache_cli import console
from pcache_cli.reports.findings import FORMATS, Wanted, write_findings
from pcache_cli.reports.numbers import counted
from pcache_cli.settings import Settings, load_settings
from pcache_cli.targets import check_target

if TYPE_CHECKING:
    from analyzers.linting.evidence import LogEvidence

_MOST_ROUNDS = 4


@dataclass(frozen=True)
class LintOptions:
    """The options of the command, as typed."""

    inputs: tuple[str, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    output_format: str = "text"
    output: Path | None = None
    level: str = "info"
    fail_level: str | None = None
    model: str | None = None
    requests_per_day: int | None = None
    logs: tuple[str, ...] = ()
    baseline: Path | None = None
    update_baseline: bool = False
    changed: str | None = None
    lock: bool = False
    update_lock: bool = False
    lock_file: Path | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    stdin_filename: str = "stdin.j2"
    tokenizer: str | None = None
    show_text: bool = False


def run_lint(options: LintOptions) -> int:
    """Lint, report, and return the exit code: 2 when something could not be read, 1 when a finding fails."""
    settings = load_settings()
    lowest, failing = _levels(options, settings)
    if options.output_format not in FORMATS:
        raise UsageError(f"there is no format '{options.output_format}'; there are {', '.join(FORMATS)}")
    checks = _checks(options, settings)
    _check_names(options, settings, checks)
    sources = _sources(options, settings)
    if options.fix or options.unsafe_fixes or options.diff:
        changes = _fixed(options, settings, sources, checks)
        if options.diff:
            sys.stdout.write("".join(change.diff() for change in changes))
            console.note(f"{counted(len(changes), 'file')} would change" if changes else "nothing to fix")
            return 1 if changes else 0
        sources = _sources(options, settings) if changes else sources
    evidence = _evidence(options, sources)
    run = _checked(options, settings, sources, checks, evidence)
    shown = [finding for finding in run.findings if finding.level.rank <= lowest.rank]
    run.hidden += len(run.findings) - len(shown)
    run.findings = shown
    drop_settled_layouts(run)
    write_findings(run, Wanted(options.output_format, options.output, options.show_text, failing))
    if run.problems:
        return 2
    return 1 if failing is not None and run.at_least(failing) else 0


def _check_names(options: LintOptions, settings: Settings, checks: Checks) -> None:
    """Raises UsageError or InputError for what is named and not there, before a file is read or changed."""
    check_target("--output", options.output)
    if options.changed is not None:
        check_revision(options.changed)
    if options.lock and not options.update_lock:
        check_lock((), {}, checks.count_tokens, _lock_file(options, settings))
    baseline = options.baseline or _from_settings(settings, settings.lint.baseline)
    if baseline is not None and not options.update_baseline:
        compare((), baseline)
    if options.logs:
        from analyzers.logs.inputs import find_sources

        find_sources(options.logs)
    if options.tokenizer is not None:
        from analyzers.tokenizers.vocabularies import find_vocabulary

        find_vocabulary(options.tokenizer)
    model, requests = _priced_for(options, settings)
    if requests is not None:
        if model is None:
            raise UsageError("--requests-per-day needs --model, whose prices are to be used")
        from pcache_cli.lint_prices import saving_per_token

        saving_per_token(model)


def _priced_for(options: LintOptions, settings: Settings) -> tuple[str | None, int | None]:
    """The model whose prices hold, and for how many requests a day."""
    return (
        options.model or settings.lint.model,
        options.requests_per_day or settings.lint.requests_per_day,
    )


def _lock_file(options: LintOptions, settings: Settings) -> Path:
    return options.lock_file or _from_settings(settings, settings.lint.lock_file) or Path("pcache.lock")


def _levels(options: LintOptions, settings: Settings) -> tuple[Level, Level | None]:
    failing = options.fail_level or settings.lint.fail_level or "warning"
    for word, extra in ((options.level, ()), (failing, ("never",))):
        if word not in (*Level, *extra):
            raise UsageError(f"'{word}' is no level; write {', '.join([*map(str, Level), *extra])}")
    return Level(options.level), None if failing == "never" else Level(failing)


def _checks(options: LintOptions, settings: Settings) -> Checks:
    rules = select_rules(options.select or settings.lint.select, (*settings.lint.ignore, *options.ignore))
    model = options.model or settings.lint.model
    return Checks(
        rules,
        _counter(options.tokenizer or settings.tokenizer or "o200k"),
        _scopes(settings),
        _ignored_in(options, settings),
        _limits,
        model,
    )


def _limits(provider: str | None, model: str | None) -> ModelLimits:
    if provider is None and model is None:
        return ModelLimits()
    from pcache_cli.lint_prices import limits_of

    return limits_of(provider, model)


def _counter(name: str) -> Callable[[str], int]:
    """Counts tokens; the tokenizer is loaded when the first finding needs it."""

    @cache
    def tokenizer():  # type: ignore[no-untyped-def]
        from analyzers.tokenization import load_tokenizer

        return load_tokenizer(name)

    @cache
    def count(text: str) -> int:
        return len(tokenizer().encode(text))

    return count


def _scopes(settings: Settings) -> dict[str, Scope]:
    scopes: dict[str, Scope] = {}
    for name, word in settings.lint.volatility.items():
        if word not in set(Scope):
            raise UsageError(f"volatility of '{name}': '{word}' is none of {', '.join(Scope)}")
        scopes[name] = Scope(word)
    return scopes


def _ignored_in(options: LintOptions, settings: Settings) -> Callable[[str], frozenset[str]]:
    by_glob = {glob: set(select_rules(words)) for glob, words in settings.lint.per_file_ignores.items()}
    for text in options.per_file_ignores:
        glob, colon, words = text.rpartition(":")
        if not colon or not words.strip():
            raise UsageError(f"'{text}' is not GLOB:RULES; write for example 'legacy/*:PC101,PC107'")
        chosen = select_rules([word for word in words.split(",") if word.strip()])
        by_glob[glob] = by_glob.get(glob, set()) | set(chosen)

    def ignored(path: str) -> frozenset[str]:
        shown = Path(path).as_posix().removeprefix("./")
        return frozenset(
            rule
            for glob, rules in by_glob.items()
            if fnmatchcase(shown, glob) or fnmatchcase(Path(path).name, glob)
            for rule in rules
        )

    return ignored


def _readers(settings: Settings) -> Readers:
    folder = settings.folder or Path.cwd()
    return Readers(tuple(folder / root for root in settings.lint.roots), frozenset(settings.lint.filters))


def _sources(options: LintOptions, settings: Settings) -> list[Source]:
    """The inputs as they are on disk now: what readers keep of files is not kept from one round to the next."""
    files = [text for text in options.inputs if text != STANDARD_INPUT]
    typed = None
    if STANDARD_INPUT in options.inputs:
        if (options.fix or options.unsafe_fixes) and not options.diff:
            raise UsageError("fixes are written to files; give --diff to see them for standard input")
        typed = (options.stdin_filename, sys.stdin.buffer.read())
    paths = find_files(files, (*settings.lint.exclude, *options.exclude)) if files else []
    if not paths and typed is None:
        raise InputError(f"there is no template, request or source file in {', '.join(files)}")
    return read_all(paths, _readers(settings), typed)


def _fixed(options: LintOptions, settings: Settings, sources: list[Source], checks: Checks) -> list[Rewrite]:
    """Apply the fixes round by round, as one may make room for another; with --diff, the first round only."""
    done: dict[Path, Rewrite] = {}
    fixed = 0
    for _ in range(_MOST_ROUNDS):
        run = lint(sources, checks)
        if options.unsafe_fixes:
            with_moves(run, checks, _readers(settings))
        changes = rewrites(run, options.unsafe_fixes)
        if options.diff or not changes:
            return changes or list(done.values())
        for change in changes:
            write(change)
            done[change.path] = change
            fixed += change.fixed
        sources = _sources(options, settings)
    console.note(f"fixed {counted(fixed, 'finding')} in {counted(len(done), 'file')}")
    return list(done.values())


def _evidence(options: LintOptions, sources: list[Source]) -> "LogEvidence | None":
    """What the logs say of the templates, where logs are given."""
    if not options.logs:
        return None
    from analyzers.linting.evidence import gather
    from analyzers.logs import read_log

    return gather(sources, read_log(list(options.logs)))


def _checked(
    options: LintOptions,
    settings: Settings,
    sources: list[Source],
    checks: Checks,
    evidence: "LogEvidence | None",
) -> LintRun:
    if evidence is not None:
        from analyzers.linting.evidence import confirmed

        checks.scopes_in = evidence.scopes
    run = lint(sources, checks)
    with_moves(run, checks, _readers(settings))
    if evidence is not None:
        run.findings = confirmed(run.findings, evidence)
        unmatched = [
            source.path for source in sources if source.prompts and source.path not in evidence.matched
        ]
        seen = max(evidence.matched.values(), default=0)
        run.notes.append(
            f"the logs show {len(evidence.matched)} of the files in use (up to {seen:,} requests)"
            + (f"; not seen: {', '.join(unmatched[:5])}" if unmatched else "")
        )
    _compare_lock(options, settings, run, checks)
    _price(options, settings, run)
    found = len(run.findings)
    if options.changed is not None:
        run.findings = only_changed(run.findings, changed_lines(options.changed))
    _compare_baseline(options, settings, run)
    run.hidden = found - len(run.findings)
    return run


def _compare_lock(options: LintOptions, settings: Settings, run: LintRun, checks: Checks) -> None:
    path = _lock_file(options, settings)
    if options.update_lock:
        name = options.tokenizer or settings.tokenizer or "o200k"
        locked = prefixes(run.sources, checks.scopes, checks.count_tokens)
        write_lock(locked, path, name)
        run.notes.append(f"wrote {path}: the fixed beginnings of {counted(len(locked), 'prompt')}")
    elif options.lock:
        changes = check_lock(run.sources, checks.scopes, checks.count_tokens, path)
        run.findings = in_order(run.findings + [f for f in changes.findings if f.rule in checks.rules])
        for what, keys in (
            ("is not in the lock", changes.added),
            ("is in the lock but gone", changes.removed),
        ):
            run.notes += [f"{key} {what}; update it with --update-lock" for key in keys]


def _compare_baseline(options: LintOptions, settings: Settings, run: LintRun) -> None:
    path = options.baseline or _from_settings(settings, settings.lint.baseline)
    if options.update_baseline:
        path = path or Path("pcache-baseline.json")
        run.notes.append(f"wrote {path}: {counted(write_baseline(run.findings, path), 'finding')}")
        run.findings = []
    elif path is not None:
        compared = compare(run.findings, path)
        run.findings = compared.new
        if compared.known:
            run.notes.append(f"{counted(compared.known, 'known finding')} of {path} not shown")
        if compared.gone:
            run.notes.append(
                f"of the findings in {path}, {compared.gone} are gone; drop them with --update-baseline"
            )


def _price(options: LintOptions, settings: Settings, run: LintRun) -> None:
    model, requests = _priced_for(options, settings)
    if model is not None and requests is not None and any(finding.tokens_lost for finding in run.findings):
        from pcache_cli.lint_prices import priced, saving_per_token

        run.findings = priced(run.findings, saving_per_token(model), requests)


def _from_settings(settings: Settings, path: str | None) -> Path | None:
    return None if path is None else (settings.folder or Path.cwd()) / path
