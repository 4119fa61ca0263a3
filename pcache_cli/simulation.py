"""The four ways of `pcache simulate`: a grid or one point of it, an engine, a replay, a provider's rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import CannotEvaluateError, UsageError
from pcache_cli import console
from pcache_cli.content import content_of
from pcache_cli.question import Output, Question
from pcache_cli.replay_options import ReplayWords
from pcache_cli.reports.simulate import KvSize

if TYPE_CHECKING:
    from analyzers.request import Request
    from analyzers.trace import Trace
    from pcache_cli.reports.figures import Figures
    from simulators.latency import TtftSummary
    from simulators.runs import Run

_DEFAULT_SIZES = (1, 16, 128)
_DEFAULT_SIZE = 16
_WHAT_IF_MODEL = "--what-if model="
_WORKING = "simulating (the first time on a machine, kernels are compiled)"


def simulate_grid(question: Question, output: Output) -> int:
    """Every block size, capacity and lifetime; or, when one of each is asked for, that point with its misses."""
    from pcache_cli.reports.figures import figures_of_sweep
    from pcache_cli.reports.simulate import print_sweep
    from pcache_cli.reports.simulate_plot import plot_sweep
    from pcache_cli.reports.simulate_tables import write_grid
    from simulators.cache_objects import has_cache_objects
    from simulators.runs import DEFINITIONS, run_lru, run_sweep

    kv = question.kv()
    is_point = question.is_one_point() and question.sampling is None
    if output.calibration is not None and not is_point:
        raise UsageError(
            "--calibration needs one configuration, exact: give one --block-size and one --capacity, no --sample"
        )
    if question.capacities is not None:
        question.capacities.in_blocks(1, kv.per_token)
    trace, traced = question.read()
    if traced is not None and has_cache_objects(traced.log.requests):
        return _check_cache_objects(traced.log.requests, output)
    question.check_prompts(trace)
    if is_point:
        content, by_field = content_of(trace, traced, question.ignore_outputs)
        size = question.one_block_size() or _default_size(trace)
        blocks, ttl = question.one_capacity(size, kv.per_token), question.one_lifetime()
        with console.progress(_WORKING):
            run = run_lru(trace, size, blocks, ttl, content, ignore_outputs=question.ignore_outputs)
        return _give_run(trace, run, kv, by_field, output)
    sizes = question.block_sizes or ((trace.info.unit,) if trace.info.unit > 1 else _DEFAULT_SIZES)
    with console.progress(_WORKING):
        sweep = run_sweep(
            trace,
            sizes,
            question.capacities,
            question.lifetimes,
            kv.per_token,
            ignore_outputs=question.ignore_outputs,
            sampling=question.sampling,
        )
    _note_blocks(trace, sizes)
    if output.table is not None:
        write_grid(output.table, sweep, kv.per_token)
        console.note(f"wrote {output.table}")
    if output.plot is not None:
        plot_sweep(output.plot, sweep, kv.per_token)
        console.note(f"wrote {output.plot}")
    figures = figures_of_sweep(sweep)
    if output.json:
        _print_json(
            output, figures, mode="sweep", kv=kv, sweep=sweep, trace=trace.info, definitions=DEFINITIONS
        )
    else:
        print_sweep(console.stdout_console(), sweep, kv)
        _print_comparison(output, figures)
        if sweep.sample is None:
            console.note("\nNext: add one --block-size and one --capacity to see why each token missed.")
        elif not sweep.sample.keeps_all:
            console.note("\nNext: leave --sample out for the exact answer, or sample more.")
    best = [
        (value, figures.get(name.replace(".best_ratio", ".best_error_ratio")) or 0)
        for name, value in figures.items()
        if name.endswith(".best_ratio") and value is not None
    ]
    return _gate(output, *(max(best) if best else (None, 0)))


def simulate_engine(
    question: Question, engine: str, options: Mapping[str, float], notes: tuple[str, ...], output: Output
) -> int:
    """The trace under an engine's cache."""
    from simulators.engines import find_engine, settled_options
    from simulators.runs import run_engine

    if question.capacity_asked or question.lifetimes is not None:
        takes = ", ".join(f"--{name}" for name in find_engine(engine).options)
        raise UsageError(f"{engine} has options of its own instead of --capacity and --ttl: {takes}")
    kv = question.kv()
    settled_options(engine, options)
    trace, traced = question.read()
    question.check_prompts(trace)
    content, by_field = content_of(trace, traced, question.ignore_outputs)
    with console.progress(_WORKING):
        run = run_engine(trace, engine, options, content, ignore_outputs=question.ignore_outputs)
    return _give_run(trace, replace(run, notes=(*notes, *run.notes)), kv, by_field, output)


def simulate_replay(question: Question, words: ReplayWords, output: Output) -> int:
    """The trace under a policy, tiers, replicas, delays, failures and invalidations, event by event."""
    from simulators.runs import run_policy

    kv = question.kv()
    asked = question.one_block_size()
    size = asked or _DEFAULT_SIZE
    settings = words.settings(
        size,
        question.one_capacity(size, kv.per_token),
        question.one_lifetime(),
        kv.per_token,
        question.ignore_outputs,
    )
    settings.check()
    trace, traced = question.read()
    question.check_prompts(trace)
    content, by_field = content_of(trace, traced, question.ignore_outputs)
    if asked is None and (size := _default_size(trace)) != _DEFAULT_SIZE:
        capacity, tiers = question.one_capacity(size, kv.per_token), words.tiers(size, kv.per_token)
        settings = replace(settings, block_size=size, capacity_blocks=capacity, tiers=tiers)
    with console.progress(_WORKING):
        run = run_policy(trace, settings, content)
    return _give_run(trace, run, kv, by_field, output)


def replay_provider(
    question: Question,
    provider: str,
    what_if: list[str],
    output: Output,
    rule_files: Sequence[Path] = (),
    price_files: Sequence[Path] = (),
) -> int:
    """The log under the rules of its providers, beside what it logged; with a what-if, beside the log as it is."""
    from pcache_cli.fixed_log import MARKERS_DECIDE, NOTHING_TO_FIX, PlayedLog, fixed_log
    from pcache_cli.reports.provider_replay import (
        figures_of_provider,
        print_replay,
        write_provider_requests,
    )
    from simulators.price_files import load_price_book
    from simulators.prices_base import seller_names
    from simulators.providers.known_models import check_model, note_of_other_rules
    from simulators.providers.replay import replay
    from simulators.providers.rules import load_rule_book
    from simulators.providers.summary import DEFINITIONS, replayed_requests, summarise_replay
    from simulators.providers.what_if import parse_what_if

    if question.block_sizes or question.capacity_asked or question.lifetimes:
        raise UsageError(
            "a provider's blocks, room and lifetimes follow from its rules; use --what-if ttl=1h"
        )
    for name, value in (("--plot", output.plot), ("--calibration", output.calibration)):
        if value is not None:
            raise UsageError(f"{name} does not go with --provider")
    change = parse_what_if(what_if)
    rules, prices = load_rule_book(rule_files), load_price_book(price_files)
    named = None if provider == "auto" else provider
    rules.check_name(named)
    if change.model is not None:
        check_model(_WHAT_IF_MODEL, change.model, seller_names(), prices, rules)
    trace, traced = question.read()
    if change.model is not None:
        check_model(_WHAT_IF_MODEL, change.model, [*trace.requests.provider.values, None], prices, rules)
    requests = None if traced is None else traced.log.requests
    played = fixed_log(traced, trace.info.sources) if change.fixed_layout else PlayedLog(trace, requests)
    change = replace(change, fixed_layout=played.fixed)
    result = replay(played.trace, rules, played.requests, named, change)
    summary = summarise_replay(played.trace, result, prices, played.requests)
    other = None if change.model is None else note_of_other_rules(change.model, result.rules, rules)
    notes = [*played.notes, *([other] if other else []), *summary.notes]
    summary = replace(summary, notes=notes)
    baseline = None
    if what_if:
        baseline = summarise_replay(trace, replay(trace, rules, requests, named), prices, requests)
        if played.fixed and summary.read_tokens <= baseline.read_tokens and not change.best_markers:
            summary = replace(summary, notes=[*summary.notes, MARKERS_DECIDE])
    if output.table is not None:
        write_provider_requests(output.table, played.trace, result)
        console.note(f"wrote {output.table}")
    figures = figures_of_provider(summary)
    rows = replayed_requests(played.trace, result)
    if output.json:
        _print_json(
            output,
            figures,
            mode="provider",
            provider=summary,
            as_logged=baseline,
            requests=rows,
            trace=trace.info,
            definitions=DEFINITIONS,
        )
    else:
        if what_if == ["layout=fixed"] and not played.fixed:
            console.stdout_console().print(NOTHING_TO_FIX)
        else:
            print_replay(console.stdout_console(), summary, rows, baseline)
        _print_comparison(output, figures)
    return _gate(output, summary.read_share)


def _check_cache_objects(requests: "list[Request]", output: Output) -> int:
    from pcache_cli.reports.simulate_cache_objects import cache_objects_document, print_cache_objects
    from simulators.cache_objects import mutated_caches

    mutated = mutated_caches(requests)
    if output.json:
        found = cache_objects_document(len(requests), mutated)
        _print_json(output, {"wrong_calls": len(mutated)}, mode="cache-objects", **found)
    else:
        print_cache_objects(console.stdout_console(), len(requests), mutated)
    return int(bool(mutated))


def _give_run(trace: "Trace", run: "Run", kv: KvSize, by_field: dict[str, int], output: Output) -> int:
    from pcache_cli.reports.figures import figures_of_run
    from pcache_cli.reports.simulate import print_run
    from pcache_cli.reports.simulate_plot import plot_run
    from pcache_cli.reports.simulate_tables import write_requests
    from simulators.runs import DEFINITIONS

    ttft = _time_to_first_token(run, output)
    if output.table is not None:
        write_requests(output.table, trace, run)
        console.note(f"wrote {output.table}")
    if output.plot is not None:
        plot_run(output.plot, trace, run)
        console.note(f"wrote {output.plot}")
    figures = figures_of_run(run, ttft)
    if output.json:
        from pcache_cli.reports.simulate import run_document

        _print_json(
            output,
            figures,
            mode="configuration",
            kv=kv,
            **run_document(run),
            isolation_by_field=by_field,
            ttft=ttft,
            trace=trace.info,
            definitions=DEFINITIONS,
        )
    else:
        print_run(console.stdout_console(), run, kv, by_field, ttft)
        _print_comparison(output, figures)
    return _gate(output, run.hit_token_ratio)


def _time_to_first_token(run: "Run", output: Output) -> "TtftSummary | None":
    from simulators.latency import summarise_ttft
    from simulators.miss_classes import MissClass

    if output.calibration is None:
        return None
    tokens = run.by_request.tokens
    prompts = run.by_request.prompt_tokens()
    sent = prompts > 0
    return summarise_ttft(output.calibration, prompts[sent], tokens[MissClass.HIT][sent], output.restore_tier)


def _default_size(trace: "Trace") -> int:
    return trace.info.unit if trace.info.unit > 1 else _DEFAULT_SIZE


def _note_blocks(trace: "Trace", sizes: tuple[int, ...]) -> None:
    finer = [str(size) for size in sizes if size < trace.info.unit]
    if finer:
        console.note(
            f"note: the trace is hashed in blocks of {trace.info.unit}; hits at block size {', '.join(finer)} are a "
            "lower bound, because what two different blocks have in common cannot be seen"
        )


def _print_json(output: Output, figures: "Figures", **parts: object) -> None:
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.figures import compared

    if output.earlier is not None:
        rows = compared(output.earlier.figures, figures)
        parts["compare"] = {"file": str(output.earlier.file), "rows": rows}
    console.print_json(document("simulate", figures=figures, **parts))


def _print_comparison(output: Output, figures: "Figures") -> None:
    from pcache_cli.reports.figures import compared, print_comparison

    if output.earlier is not None:
        rows = compared(output.earlier.figures, figures)
        print_comparison(console.stdout_console(), output.earlier.file, rows)


def _gate(output: Output, ratio: float | None, error: float = 0) -> int:
    if output.fail_below is None:
        return 0
    if ratio is None:
        raise CannotEvaluateError("--fail-below: the hit ratio is unknown, the trace holds no prompt tokens")
    if abs(ratio - output.fail_below) < error:
        raise CannotEvaluateError(
            f"--fail-below: the hit ratio is estimated at {ratio:.4f} ± {error:.4f}, too close to {output.fail_below} to "
            "tell; sample more, or leave --sample out"
        )
    return int(ratio < output.fail_below)
