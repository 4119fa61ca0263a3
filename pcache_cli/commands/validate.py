"""`pcache validate`: a simulation held against a server's counters or a provider's logged usage."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log

if TYPE_CHECKING:
    from simulators.metrics_scrape import CacheCounters
    from simulators.validation import Validation


@pcache_command
@takes_log
def validate(
    source: LogSource,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", help="A /metrics scrape, file or http address; twice: before and after."),
    ] = None,
    tolerance: Annotated[
        str, typer.Option("--tolerance", help="Largest difference that still agrees: 3%, 0.03.")
    ] = "3%",
    provider: Annotated[
        str | None,
        typer.Option(
            "--provider", help="Simulate a provider's rules: its name, or auto (without --metrics)."
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="Simulate an engine; by default the one that was scraped.")
    ] = None,
    engine_option: Annotated[
        list[str] | None,
        typer.Option(
            "--engine-option", "-E", help="Option of the engine, like num-gpu-blocks=9000; repeatable."
        ),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option("--capacity", help="Simulate plain LRU of this room instead: 4096blocks, none."),
    ] = None,
    ttl: Annotated[str | None, typer.Option("--ttl", help="Lifetime for --capacity: 5m, none.")] = None,
    block_size: Annotated[int, typer.Option("--block-size", min=1, help="Block for --capacity.")] = 16,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> int:
    """Whether a simulation of the log gives what the server counted or the provider billed; exit 1 when not."""
    from analyzers.errors import CannotEvaluateError, UsageError
    from pcache_cli import console
    from pcache_cli.axes import parse_capacities, parse_lifetimes
    from pcache_cli.question import Question
    from pcache_cli.scrapes import read_counters
    from pcache_cli.units import parse_share
    from simulators.miss_classes import MissClass
    from simulators.providers.rules import load_rule_book
    from simulators.runs import Content, run_engine, run_lru
    from simulators.validation import Model, logged_against, unknown_outputs, world_of_counters
    from simulators.validation import validate as compare

    models = [n for n, on in (("--provider", provider), ("--engine", engine), ("--capacity", capacity)) if on]
    if len(models) > 1:
        raise UsageError(f"{' and '.join(models)} are different models; validate one at a time")
    if ttl is not None and capacity is None:
        raise UsageError("--ttl belongs to --capacity; give --capacity none for room without end")
    if provider is not None and metrics:
        raise UsageError(
            "--metrics come from a server of your own; --provider is held against the logged usage"
        )
    share = parse_share(tolerance)
    counters = read_counters(metrics) if metrics else None
    engine = engine or (counters.server if counters is not None and capacity is None else None)
    question = Question(
        source=source,
        block_sizes=(block_size,),
        capacities=None if capacity is None else parse_capacities(capacity),
        capacity_asked=capacity is not None,
        lifetimes=None if ttl is None else parse_lifetimes(ttl),
        model=None,
        kv_dtype="auto",
        tensor_parallel=1,
        kv_bytes_per_token=None,
        ignore_outputs=False,
    )
    book, named = load_rule_book(()), None if provider in (None, "auto") else provider
    book.check_name(named)
    size = question.one_block_size() or 1
    room, lifetime = question.one_capacity(size, None), question.one_lifetime()
    options = {} if engine is None else _options(engine, engine_option or [], counters)
    trace, traced = question.read()
    question.check_prompts(trace)
    if engine is None and capacity is None:
        from simulators.providers.replay import replay

        played = replay(trace, book, None if traced is None else traced.log.requests, named)
        name = "the providers' rules" if named is None else f"the rules of {named}"
        model, world = logged_against(trace, name, played.prompt, played.read, by_provider=True)
        return _give(compare(model, world, share), json)
    if trace.info.prompts_incomplete:
        raise CannotEvaluateError(
            "the log lacks parts of the prompts that were sent, so a simulation of it cannot be held against the world"
        )
    with console.progress("simulating"):
        if engine is None:
            run = run_lru(trace, size, room, lifetime, Content())
        else:
            run = run_engine(trace, engine, options, Content())
    bound = run.capacity_tokens is not None
    if counters is None:
        classes = run.by_request
        hits = classes.tokens[MissClass.HIT]
        model, world = logged_against(trace, run.model, classes.prompt_tokens(), hits, capacity_bound=bound)
    else:
        model = Model(
            run.model, run.prompt_tokens, run.hit_tokens, run.requests, unknown_outputs(trace), bound
        )
        world = world_of_counters(counters, since_start=len(metrics or ()) == 1)
    return _give(compare(model, world, share), json)


def _options(engine: str, pairs: list[str], counters: "CacheCounters | None") -> dict[str, float]:
    """The options of the engine: what was given, else what the server says of itself. Raises UsageError."""
    from pcache_cli import console
    from pcache_cli.replay_options import GpuMemory, engine_options
    from simulators.engines import find_engine, settled_options

    given, _ = engine_options(engine, {}, pairs, None, GpuMemory(None, None, None), "auto", 1, None)
    stated = {} if counters is None else counters.settings
    taken = {n: v for n, v in stated.items() if n in find_engine(engine).options and n not in given}
    if taken:
        words = ", ".join(f"{name}={value:,.0f}" for name, value in taken.items())
        console.note(f"note: {words}, as the server states")
    return settled_options(engine, {**taken, **given})


def _give(result: "Validation", json: bool) -> int:
    from pcache_cli import console
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.validate import print_validation
    from simulators.validation import DEFINITIONS

    if json:
        console.print_json(document("validate", validation=result, definitions=DEFINITIONS))
    else:
        print_validation(console.stdout_console(), result)
    return int(not result.agrees)
