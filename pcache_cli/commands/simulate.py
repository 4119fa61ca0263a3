"""`pcache simulate`: what a cache of some size, lifetime, block size, engine or policy would have hit."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log


def _option(help_text: str, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help_text)
    return option


@pcache_command
@takes_log
def simulate(
    source: LogSource,
    block_size: Annotated[str | None, _option("Tokens a block, for example 1,16,128.")] = None,
    capacity: Annotated[
        str | None, _option("Room: 64GiB, 4096blocks, 1Mtokens, a list, 1GiB..64GiB, low..high:points, none.")
    ] = None,
    ttl: Annotated[str | None, _option("Lifetimes: 5m, 30s..24h, low..high:points, none.")] = None,
    model: Annotated[
        str | None, _option("Model shape for sizes in bytes: a name, a hub repository, or a config.json.")
    ] = None,
    kv_dtype: Annotated[str, _option("KV dtype: auto (16 bit), fp8, int8, fp4, fp32.")] = "auto",
    tensor_parallel: Annotated[int, _option("GPUs that share the KV heads.")] = 1,
    kv_bytes_per_token: Annotated[int | None, _option("KV bytes a token, instead of --model.")] = None,
    ignore_outputs: Annotated[
        bool, _option("Cache prompts only, as if nothing were generated.", "--ignore-outputs")
    ] = False,
    engine: Annotated[
        str | None,
        _option("vllm, vllm-0.11, sglang, trtllm-like, llamacpp-slots, mooncake.", "--engine"),
    ] = None,
    num_gpu_blocks: Annotated[int | None, _option("vllm: KV blocks, the null block included.")] = None,
    gpu_memory: Annotated[str | None, _option("vllm: memory of one GPU, to derive the blocks.")] = None,
    gpu_memory_utilization: Annotated[float | None, _option("vllm: share of it to use (0.9).")] = None,
    weight_bytes: Annotated[str | None, _option("vllm: size of the weights (16 bit by default).")] = None,
    page_size: Annotated[int | None, _option("sglang: tokens a page (1).")] = None,
    max_total_tokens: Annotated[int | None, _option("sglang: tokens in the KV pool.")] = None,
    parallel: Annotated[int | None, _option("llamacpp-slots: slots (1).")] = None,
    engine_option: Annotated[
        list[str] | None,
        _option("Any other option of the engine, name=value; repeatable.", "--engine-option", "-E"),
    ] = None,
    policy: Annotated[
        str | None,
        _option("Replay event by event: lru, fifo, lfu, size-aware, priority, s3-fifo, arc, belady."),
    ] = None,
    ttl_from: Annotated[str | None, _option("What a lifetime counts from: last-use, creation, hits.")] = None,
    priority: Annotated[
        list[str] | None, _option("For the policy priority: tenant=acme:2 or route=chat:pin; repeatable.")
    ] = None,
    tier: Annotated[
        list[str] | None, _option("A lower tier: cpu=256GiB@25GB, remote=8TiB@1GB,shared; repeatable.")
    ] = None,
    replicas: Annotated[int, _option("Replicas with caches of their own.")] = 1,
    routing: Annotated[
        str,
        _option(
            "random, round-robin, session-hash, prefix-hash, consistent-session, consistent-prefix, prefix-aware."
        ),
    ] = "round-robin",
    replica_change: Annotated[
        list[str] | None, _option("A replica comes or goes: 2026-10-05T09:00:00Z=leave:2; repeatable.")
    ] = None,
    visibility: Annotated[
        str, _option("When an entry can be read: at-once, prefill, first-token, end.")
    ] = "at-once",
    prefill_rate: Annotated[float | None, _option("Prefill tokens per second, for --visibility.")] = None,
    single_flight: Annotated[
        bool, _option("Wait for an entry that another request is building.", "--single-flight")
    ] = False,
    fail_writes: Annotated[float, _option("Share of requests whose writes fail.")] = 0.0,
    fail_restores: Annotated[float, _option("Share of restored blocks that are lost.")] = 0.0,
    restore_deadline: Annotated[str | None, _option("Compute what takes longer to restore.")] = None,
    invalidations: Annotated[
        Path | None, _option("Events after which entries may not be served (JSONL).")
    ] = None,
    seed: Annotated[int, _option("Seed of everything random.")] = 0,
    sample: Annotated[
        float | None, _option("Estimate the sweep from this share of the touch records, for example 0.01.")
    ] = None,
    provider: Annotated[
        str | None, _option("Replay a provider's own cache rules: its name, or auto for each request's.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        _option("With --provider: automatic, markers=best, ttl=1h, layout=fixed, model=NAME; repeatable."),
    ] = None,
    rules: Annotated[
        list[Path] | None, _option("With --provider: your own provider rules (YAML); repeatable.")
    ] = None,
    prices: Annotated[
        list[Path] | None, _option("With --provider: your own prices (YAML or JSON); repeatable.")
    ] = None,
    calibration: Annotated[
        Path | None, _option("calibration.json of pcache probe: time to first token.")
    ] = None,
    restore_tier: Annotated[str, _option("Where hits lie, for --calibration.")] = "resident",
    json: Annotated[bool, _option("The result as JSON on stdout.", "--json")] = False,
    output: Annotated[
        Path | None, _option("The grid, or one row a request: .csv or .parquet.", "--output", "-o")
    ] = None,
    plot: Annotated[Path | None, _option("PNG: curves and heat map, or the classes over time.")] = None,
    compare: Annotated[Path | None, _option("Set the result beside an earlier --json document.")] = None,
    fail_below: Annotated[
        float | None, _option("Exit 1 when the hit ratio (of a sweep: its best) is below this (0 to 1).")
    ] = None,
) -> int:
    """What a cache would have hit: every size, lifetime and block size at once, or one configuration with the
    reason of each miss."""
    from analyzers.errors import UsageError
    from pcache_cli.axes import parse_block_sizes, parse_capacities, parse_lifetimes
    from pcache_cli.question import Earlier, Output, Question
    from pcache_cli.replay_options import GpuMemory, ReplayWords, engine_options
    from pcache_cli.reports.figures import read_figures
    from pcache_cli.simulation import (
        replay_provider,
        simulate_engine,
        simulate_grid,
        simulate_replay,
    )
    from pcache_cli.targets import check_table_and_plot
    from simulators.latency import RESIDENT, load_calibration
    from simulators.sampling import Sampling

    if fail_below is not None and not 0 <= fail_below <= 1:
        raise UsageError(f"--fail-below {fail_below} is no ratio; write a number from 0 to 1")
    check_table_and_plot(output, plot)
    if sample == 1:
        raise UsageError("--sample 1 is no sample: leave --sample out for the exact answer")
    question = Question(
        source=source,
        block_sizes=None if block_size is None else parse_block_sizes(block_size),
        capacities=None if capacity is None else parse_capacities(capacity),
        capacity_asked=capacity is not None,
        lifetimes=None if ttl is None else parse_lifetimes(ttl),
        model=model,
        kv_dtype=kv_dtype,
        tensor_parallel=tensor_parallel,
        kv_bytes_per_token=kv_bytes_per_token,
        ignore_outputs=ignore_outputs,
        sampling=None if sample is None else Sampling(sample, seed),
    )
    out = Output(
        json,
        output,
        plot,
        None if compare is None else Earlier(compare, read_figures(compare)),
        fail_below,
        None if calibration is None else load_calibration(calibration),
        restore_tier,
    )
    if out.calibration is not None and restore_tier != RESIDENT:
        out.calibration.tier(restore_tier)
    words = ReplayWords(
        policy, ttl_from, tuple(priority or ()), tuple(tier or ()), replicas, routing, tuple(replica_change or ()),
        visibility, prefill_rate, single_flight, fail_writes, fail_restores, restore_deadline, invalidations, seed,
    )  # fmt: skip
    asked = [
        name
        for name, on in (("--engine", engine), ("--provider", provider), ("a replay", words.given()))
        if on
    ]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} answer different questions; ask one at a time")
    if asked and sample is not None:
        raise UsageError(
            f"--sample estimates the sweep of an LRU cache; {asked[0]} has no stack distances to sample and goes through "
            "every request: leave --sample out"
        )
    flags: dict[str, float | None] = {
        "num-gpu-blocks": num_gpu_blocks,
        "page-size": page_size,
        "max-total-tokens": max_total_tokens,
        "parallel": parallel,
    }
    gpu = GpuMemory(gpu_memory, gpu_memory_utilization, weight_bytes)
    if engine is None:
        stray = [f"--{name}" for name, value in flags.items() if value is not None]
        stray += ["--gpu-memory"] if gpu != GpuMemory(None, None, None) else []
        stray += ["--engine-option"] if engine_option else []
        if stray:
            raise UsageError(f"{stray[0]} is an option of an engine; name it with --engine")
    if provider is None and what_if:
        raise UsageError("--what-if changes a provider's rules; name the provider with --provider")
    if provider is None and (rules or prices):
        raise UsageError("--rules and --prices are a provider's; name it with --provider")
    if provider is not None:
        return replay_provider(question, provider, what_if or [], out, rules or [], prices or [])
    if engine is not None:
        size = question.one_block_size()
        options, notes = engine_options(
            engine,
            {**flags, "block-size": size},
            engine_option or [],
            question.shape(),
            gpu,
            kv_dtype,
            tensor_parallel,
            question.kv().per_token,
        )
        return simulate_engine(question, engine, options, notes, out)
    if words.given():
        return simulate_replay(question, words, out)
    return simulate_grid(question, out)
