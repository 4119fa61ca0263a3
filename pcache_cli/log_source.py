"""The options that say what to read and how, the same for every command that takes a log or a trace."""

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyzers.errors import InputError, UsageError
from pcache_cli import console
from pcache_cli.units import split_list

if TYPE_CHECKING:
    from analyzers.pipeline import TracedLog, TraceOptions
    from analyzers.request import Log
    from analyzers.shards.cluster.engine import ShardedResult
    from analyzers.shards.merge import MergedTrace
    from analyzers.shards.plan import Plan
    from analyzers.trace import Trace

_LARGE_BYTES = 2**30
_NAMED = 3

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "inputs": (
        Annotated[
            list[str],
            typer.Argument(metavar="INPUT...", help="Logs or a trace: files, folders, globs, '-' for stdin."),
        ],
        inspect.Parameter.empty,
    ),
    "format": (
        Annotated[
            str | None, typer.Option("--format", help="Log format; detected from the content by default.")
        ],
        None,
    ),
    "map": (
        Annotated[
            str | None,
            typer.Option("--map", help="Columns of a plain log, for example prompt=input,timestamp=ts."),
        ],
        None,
    ),
    "tokenizer": (
        Annotated[
            str,
            typer.Option(
                "--tokenizer", help="auto, o200k, cl100k, a tokenizer.json, a folder, or a hub name."
            ),
        ],
        "auto",
    ),
    "chat_template": (
        Annotated[
            str | None,
            typer.Option("--chat-template", help="Render with a Hugging Face chat template (file or name)."),
        ],
        None,
    ),
    "namespace": (
        Annotated[
            str | None,
            typer.Option(
                "--namespace",
                help="Fields that must agree for sharing, for example model,tenant; 'none' for one cache.",
            ),
        ],
        None,
    ),
    "since": (
        Annotated[
            str | None, typer.Option("--since", help="Only requests from this time on (ISO or epoch).")
        ],
        None,
    ),
    "until": (
        Annotated[str | None, typer.Option("--until", help="Only requests before this time (ISO or epoch).")],
        None,
    ),
    "strict": (
        Annotated[
            bool, typer.Option("--strict", help="Stop with exit code 2 at the first unreadable record.")
        ],
        False,
    ),
}


@dataclass(frozen=True)
class LogSource:
    """What a person asked to have read."""

    inputs: list[str]
    format: str | None = None
    map: str | None = None
    tokenizer: str = "auto"
    chat_template: str | None = None
    namespace: str | None = None
    since: str | None = None
    until: str | None = None
    strict: bool = False

    def is_trace(self) -> bool:
        """Whether the input is a trace file made by `pcache trace`."""
        from analyzers.trace_file import is_trace_file

        traces = [is_trace_file(name) for name in self.inputs if name != "-"]
        if any(traces) and len(self.inputs) > 1:
            raise UsageError("a trace is read alone: give one trace file, or only logs")
        return any(traces)

    def trace(self) -> "Trace":
        """The Trace: loaded when the input is one, else built from the logs."""
        if self.is_trace():
            from analyzers.trace_file import load_trace

            self._refuse_log_options()
            return load_trace(self.inputs[0])
        return self.traced_log().trace

    def log(self) -> "Log":
        """The requests of the logs, in file order. Raises InputError when the input is a trace, which holds none."""
        from analyzers.logs import read_log
        from analyzers.trace_file import sources_of

        if self.is_trace():
            raise InputError(
                f"{self.inputs[0]} is a trace, which holds no prompts; give {log_behind(sources_of(self.inputs[0]))} instead"
            )
        self._warn_of_size()
        with console.progress("reading the log"):
            return read_log(self.inputs, format=self.format, mapping=self._mapping(), strict=self.strict)

    @contextmanager
    def trace_in_shards(self, plan: "Plan", folder: Path, jobs: int) -> "Iterator[MergedTrace]":
        """The Trace of the logs, read shard by shard in bounded memory; its arrays lie in `folder` meanwhile."""
        from analyzers.shards.local_engine import trace_in_shards

        console.announce_compilation()
        options = self.trace_options()
        try:
            with ExitStack() as work:
                with console.progress("reading the log") as say:
                    merged = work.enter_context(
                        trace_in_shards(
                            plan,
                            options,
                            folder,
                            jobs,
                            lambda done, of: say(f"reading the log: {done} of {of} shards"),
                        )
                    )
                yield merged
        except KeyboardInterrupt:
            if folder.exists():
                console.note(f"what was read is kept in {folder}; the same command goes on from there")
            raise

    def trace_with_ray(self, plan: "Plan", address: str | None) -> "ShardedResult":
        """The Trace of the logs, made on a Ray cluster, without the shards that it could not read."""
        from analyzers.shards.cluster.on_ray import trace_with_ray

        with console.progress("reaching the cluster") as say:
            return trace_with_ray(
                plan,
                self.trace_options(),
                address,
                lambda done, of: say(f"reading the log: {done} of {of} shards"),
            )

    def plan(self, shard_bytes: int, leave_out: frozenset[Path] = frozenset()) -> "Plan":
        """The files of the logs, shared out, but those found whose resolved path is to be left out."""
        from analyzers.shards.plan import plan_shards

        with console.progress("looking at the files"):
            return plan_shards(
                self.inputs,
                self.format,
                self._mapping(),
                strict=self.strict,
                shard_bytes=shard_bytes,
                leave_out=leave_out,
            )

    def traced_log(self, answers: bool = True) -> "TracedLog":
        """Requests, content and Trace; logged answers are left out of the tree unless `answers`.

        Raises InputError when the input is a trace, which holds no content.
        """
        from analyzers.pipeline import trace_log

        options = self.trace_options(answers)
        self._check_names()
        log = self.log()
        console.announce_compilation()
        with console.progress("tokenizing and building the prefix tree"):
            return trace_log(log, options)

    def trace_options(self, answers: bool = True) -> "TraceOptions":
        """How the logs become a Trace. Raises UsageError for a time or a list that cannot be read."""
        from analyzers.logs.timestamps import EARLIEST, LATEST, is_out_of_range, parse_time
        from analyzers.pipeline import TraceOptions

        namespace: tuple[str, ...] | None = None
        if self.namespace is not None:
            namespace = () if self.namespace == "none" else tuple(split_list(self.namespace))
        limits = {}
        for name, text in (("since_ns", self.since), ("until_ns", self.until)):
            limits[name] = None if text is None else parse_time(text)
            if text is not None and limits[name] is None:
                if is_out_of_range(text):
                    raise UsageError(
                        f"'{text}' is out of range; times from {EARLIEST} to {LATEST} can be told"
                    )
                raise UsageError(f"'{text}' is no time; write for example 2026-10-05T09:00:00Z")
        return TraceOptions(self.tokenizer, self.chat_template, namespace, answers=answers, **limits)

    def _check_names(self) -> None:
        """Raises UsageError for a tokenizer or a chat template that is not there."""
        from analyzers.renderings.template_files import find_template
        from analyzers.tokenizers.vocabularies import find_vocabulary

        if self.tokenizer != "auto":
            find_vocabulary(self.tokenizer)
        if self.chat_template not in (None, "tokenizer"):
            find_template(self.chat_template, None)

    def _warn_of_size(self) -> None:
        from analyzers.logs.inputs import find_sources

        size = sum(source.version().size or 0 for source in find_sources(self.inputs))
        if size > _LARGE_BYTES:
            console.note(
                f"this log has {size / 2**30:.1f} GiB, and what is distinct in it is held in memory; "
                f"'pcache trace {' '.join(self.inputs)} -o trace.parquet' needs little memory, and most questions "
                "can be put to the trace"
            )

    def _mapping(self) -> dict[str, str]:
        if self.map is None:
            return {}
        pairs = [item.partition("=") for item in split_list(self.map)]
        if not all(separator and name and column for name, separator, column in pairs):
            raise UsageError(f"'{self.map}' is no mapping; write for example prompt=input,timestamp=ts")
        return {name.strip(): column.strip() for name, _, column in pairs}

    def _refuse_log_options(self) -> None:
        given = [
            f"--{name.replace('_', '-')}"
            for name, (_, default) in _OPTIONS.items()
            if name != "inputs" and getattr(self, name) != default
        ]
        if given:
            verb = "shapes" if len(given) == 1 else "shape"
            raise UsageError(f"{', '.join(given)} {verb} how a log is read; a trace has been read already")


def log_behind(sources: Sequence[str]) -> str:
    """How to name the log that a trace was made from: its files, where the trace knows them."""
    names = ["standard input" if name == "-" else name for name in sources]
    if not names:
        return "the log it was made from"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"the log it was made from ({', '.join(names[:_NAMED])}{more})"


def takes_log(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command the reading options; it receives them as its first argument, a LogSource."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> int | None:
        source = LogSource(**{name: kwargs.pop(name) for name in _OPTIONS})
        return function(source, *args, **kwargs)

    signature = inspect.signature(function, eval_str=True)
    _, *others = signature.parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    reading = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in _OPTIONS.items()
    ]
    parameters = [reading[0], *(p.replace(kind=keyword) for p in others), *reading[1:]]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
