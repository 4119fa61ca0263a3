"""`pcache probe`: measure a real model's prefill and KV restore on this machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from analyzers.errors import CannotEvaluateError, UsageError
from pcache_cli import console
from pcache_cli.command import pcache_command
from pcache_cli.targets import check_table_and_plot, check_target
from pcache_cli.units import parse_duration

_LIBRARIES = ("torch", "transformers", "safetensors", "psutil")


@pcache_command
def probe(
    model: Annotated[
        str, typer.Option(help="A shape of the catalogue, a local folder, a GGUF file or a hub id.")
    ] = "tiny-llama",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    dtype: Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")] = "auto",
    attention: Annotated[
        str, typer.Option(help="sdpa, eager, or causal (computes visible pairs only, as paged engines do).")
    ] = "sdpa",
    budget: Annotated[str, typer.Option(help="Time for the whole run, e.g. 60s or 5m.")] = "60s",
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Longest prompt [default: 2048 on the host, 32768 on CUDA].")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads on the host; one gives the least noisy times.")
    ] = 1,
    redis: Annotated[str | None, typer.Option(help="Also measure a Redis server, e.g. redis://host.")] = None,
    disk: Annotated[
        Path | None, typer.Option(help="Folder on the disk to measure [default: the temporary folder].")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of random weights, ids, order and the planted fault.")] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the calibration goes.")] = Path(
        "calibration.json"
    ),
    plot: Annotated[Path | None, typer.Option(help="Draw prefill and restore times to this PNG.")] = None,
    cells: Annotated[
        Path | None, typer.Option(help="Write every measured cell to this Parquet file.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The document on stdout instead of a report.")
    ] = False,
    list_models: Annotated[bool, typer.Option("--list-models", help="Show the catalogue of shapes.")] = False,
    experiment: Annotated[str | None, typer.Option(help="Run an experiment instead: shared-prefix.")] = None,
    requests: Annotated[int, typer.Option(min=1, help="Experiment: how many requests.")] = 100,
    prefix: Annotated[int, typer.Option(min=1, help="Experiment: tokens all requests share.")] = 500,
    suffix: Annotated[int, typer.Option(min=1, help="Experiment: tokens of each request's own.")] = 50,
) -> int:
    """Measure how long a model takes to prefill and to restore KV here, and write a calibration.

    The calibration is what simulate and cost need for latencies: prefill time by new and cached tokens,
    restore time by tier, bytes a token, and from which length restoring beats computing. Restored KV is
    verified against the live cache and against a full prefill; exit code 1 when a check fails.
    """
    if list_models:
        from gpu_probe.shapes import SHAPES
        from pcache_cli.reports.probe import show_shapes

        show_shapes(list(SHAPES.values()))
        return 0
    _need_libraries()
    request = _model_request(model, device, dtype, attention, seed)
    if experiment is not None:
        if experiment != "shared-prefix":
            raise UsageError(f"--experiment {experiment}: the one there is is shared-prefix")
        return _run_experiment(request, requests, prefix, suffix, threads, as_json)
    check_target("--output", output)
    check_target("--cells", cells)
    check_table_and_plot(None, plot)
    from gpu_probe.run import ProbeOptions

    options = ProbeOptions(request, parse_duration(budget), max_tokens, threads, redis, disk)
    return _run_probe(options, output, plot, cells, as_json)


def _run_probe(options: Any, output: Path, plot: Path | None, cells: Path | None, as_json: bool) -> int:
    from gpu_probe.cells import write_cells, write_partial
    from gpu_probe.partial import Partial, finish
    from gpu_probe.run import run_probe
    from pcache_cli.reports.probe import show_calibration
    from simulators.latency import dump_calibration

    partial, stopped = Partial(), None
    try:
        with _progress() as progress:
            calibration = run_probe(options, partial, progress)
    except (CannotEvaluateError, KeyboardInterrupt) as problem:
        stopped = problem
        try:
            calibration = finish(partial)
        except CannotEvaluateError:
            if partial.prefill_cells():
                kept = output.with_suffix(".partial.json")
                write_partial(kept, partial)
                console.note(f"what was measured is in {kept}; it is too little for a calibration")
            raise problem from None
    document = dump_calibration(calibration)
    _write(output, document)
    if cells is not None:
        write_cells(cells, calibration)
    if plot is not None:
        from pcache_cli.reports.probe_plot import draw_calibration

        draw_calibration(calibration, plot)
    if as_json:
        typer.echo(document.decode(), nl=False)
    else:
        show_calibration(calibration, output)
    if stopped is not None:
        console.note(f"the run ended early; what was measured until then is in {output}")
        raise stopped
    return 0 if all(check.passed for check in calibration.checks) else 1


def _run_experiment(
    request: Any, requests: int, prefix: int, suffix: int, threads: int, as_json: bool
) -> int:
    import dataclasses

    from gpu_probe.experiment import ExperimentOptions, run_shared_prefix
    from pcache_cli.reports.probe import show_experiment

    options = ExperimentOptions(request, requests, prefix, suffix, threads)
    with _progress() as progress:
        result = run_shared_prefix(options, progress)
    if as_json:
        console.print_json(dataclasses.asdict(result))
    else:
        show_experiment(result)
    return 0


def _model_request(model: str, device: str, dtype: str, attention: str, seed: int) -> Any:
    from gpu_probe.models import ModelRequest

    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {device}: choose auto, cpu or cuda")
    if attention not in ("sdpa", "eager", "causal"):
        raise UsageError(f"--attention {attention}: choose sdpa, eager or causal")
    return ModelRequest(model, device, dtype, attention, seed)  # type: ignore[arg-type]


def _progress() -> Any:
    """A context manager giving a function that shows what is being done, on a terminal only."""
    from contextlib import contextmanager

    @contextmanager
    def shown() -> Any:
        terminal = console.stderr_console()
        if console.settings.quiet or not terminal.is_terminal:
            yield lambda message: None
            return
        with terminal.status("starting") as status:
            yield lambda message: status.update(console.plain(message))

    return shown()


def _need_libraries() -> None:
    from importlib.util import find_spec

    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise UsageError(f"pcache probe needs {', '.join(missing)}; install pcache-cli[probe]")


def _write(path: Path, document: bytes) -> None:
    try:
        path.write_bytes(document)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from problem
