"""What every command shares: --quiet, --no-color, --debug, and errors as one sentence with an exit code."""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from analyzers.errors import PcacheError
from pcache_cli import console

_COMMON_OPTIONS = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress on stderr.")],
    "no_color": Annotated[bool, typer.Option("--no-color", help="No colours (NO_COLOR is honoured too).")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")],
}


def pcache_command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Make a function a command: adds the common options, turns its result into the exit code.

    The function returns 0 or None when all is fine and 1 when a gate or a finding failed; it raises
    PcacheError for the rest. Register the result with `app.command()`.
    """

    @functools.wraps(function)
    def run(*args: Any, quiet: bool, no_color: bool, debug: bool, **kwargs: Any) -> None:
        console.settings.quiet = quiet
        console.settings.color = console.settings.color and not no_color
        console.settings.debug = debug
        raise typer.Exit(_exit_code(function, *args, **kwargs))

    signature = inspect.signature(function, eval_str=True)
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in _COMMON_OPTIONS.items()
    ]
    parameters = [*signature.parameters.values(), *common]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _exit_code(function: Callable[..., int | None], *args: Any, **kwargs: Any) -> int:
    try:
        code = function(*args, **kwargs) or 0
        sys.stdout.flush()
        return code
    except typer.Exit:
        raise
    except BrokenPipeError:
        # The reader of our output went away (`pcache … | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        console.error("interrupted")
        return 130
    except PcacheError as problem:
        if console.settings.debug:
            raise
        console.error(str(problem))
        return problem.exit_code
    except Exception as problem:
        if console.settings.debug:
            raise
        console.error(f"unexpected {type(problem).__name__}: {problem} (run again with --debug to see where)")
        return 3
