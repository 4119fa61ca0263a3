"""Write docs/cli.md, every command with its options, from the commands themselves: `python docs/cli_reference.py`."""

import inspect
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "cli.md"
_VALUES = {str: "text", int: "number", float: "number", Path: "path"}
_PAGES = {
    "analyze": "breakers.md",
    "cost": "providers.md",
    "key": "breakers.md",
    "lint": "lint.md",
    "probe": "probe.md",
    "report": "report.md",
    "rule": "rules.md",
    "simulate": "simulate.md",
    "validate": "validate.md",
}


@dataclass(frozen=True)
class Parameter:
    """An option, or with `argument` a place on the line. `names` and `off_names` (of a switch) as typed; `value`
    is the kind of value it takes, empty for a switch; `default` is empty where there is none."""

    names: tuple[str, ...]
    off_names: tuple[str, ...]
    value: str
    default: str
    required: bool
    argument: bool
    help: str


@dataclass(frozen=True)
class Command:
    """A command as typed, what it says about itself, and what it takes, in the order of its help."""

    name: str
    docs: str
    parameters: tuple[Parameter, ...]

    @property
    def options(self) -> list[Parameter]:
        """What starts with a dash."""
        return [one for one in self.parameters if not one.argument]

    @property
    def arguments(self) -> list[Parameter]:
        """What has its place on the line."""
        return [one for one in self.parameters if one.argument]


def commands() -> list[Command]:
    """Every command of pcache, in the order of its help."""
    sys.path.insert(0, str(ROOT))
    from pcache_cli.app import app

    return [_command(info.callback) for info in app.registered_commands if info.callback is not None]


def _command(function: Any) -> Command:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    docs = inspect.getdoc(function) or ""
    return Command(function.__name__, docs, tuple(_parameter(one) for one in parameters))


def _parameter(parameter: inspect.Parameter) -> Parameter:
    kind, said = get_args(parameter.annotation)
    argument = type(said).__name__ == "ArgumentInfo"
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    return Parameter(
        *_names(parameter.name, kind, said, argument),
        value="" if kind is bool else said.metavar or _value(kind),
        default="" if default is None or isinstance(default, bool | list | tuple) else str(default),
        required=parameter.default in (inspect.Parameter.empty, ...),
        argument=argument,
        help=" ".join(said.help.split()),
    )


def _names(name: str, kind: Any, said: Any, argument: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if argument:
        return (said.metavar or name.upper(),), ()
    # In an Annotated declaration the first name stands where a default would.
    declared = [one for one in (said.default, *(said.param_decls or ())) if isinstance(one, str)]
    plain = f"--{name.replace('_', '-')}"
    on: list[str] = []
    off: list[str] = []
    for names in declared or [plain if kind is not bool else f"{plain}/--no-{plain[2:]}"]:
        first, _, second = names.partition("/")
        on.append(first.strip())
        off += [second.strip()] if second else []
    return tuple(on), tuple(off)


def _value(kind: Any) -> str:
    """The kind of value behind `str | None`, `list[Path]` and the like."""
    if kind in _VALUES:
        return _VALUES[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(member.value for member in kind)
    inner = [_value(one) for one in get_args(kind) if one is not type(None)]
    if not inner:
        raise TypeError(f"no word for the option type {kind}")
    return f"{inner[0]}, repeatable" if get_origin(kind) is list else inner[0]


def page() -> str:
    """The page as Markdown: what all commands share first, then each command with what is its own."""
    every = commands()
    common = _shared(every)
    readers = [one for one in every if any(a.names == ("INPUT...",) for a in one.arguments)]
    reading = [one for one in _shared(readers) if one not in common]
    lines = [
        "# Commands and options",
        "",
        "Written from the commands themselves (`python docs/cli_reference.py`); `pcache COMMAND --help` says the same.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`pcache {one.name}`](#pcache-{one.name}) | {_cell(_sentence(one.docs))} |" for one in every),
        "",
        "Exit codes: 0 fine, 1 a gate or a finding, 2 wrong usage or unreadable input, 3 could not be evaluated.",
        "",
        "## Every command",
        "",
        *_table(common),
        "",
        "## Reading logs",
        "",
        f"{', '.join(f'`{one.name}`' for one in readers)} take logs or a trace "
        "([formats](formats.md)) and share these:",
        "",
        *_table(reading),
    ]
    for one in every:
        usage = " ".join(["pcache", one.name, *(a.names[0] for a in one.arguments)])
        own = [option for option in one.options if option not in common + (reading if one in readers else [])]
        more = f"More: [{_PAGES[one.name]}]({_PAGES[one.name]})." if one.name in _PAGES else ""
        lines += ["", f"## pcache {one.name}", "", "```text", usage, "```", "", *one.docs.splitlines()]
        lines += ["", more] if more else []
        lines += ["", *_table([*one.arguments, *own])]
    return "\n".join(lines) + "\n"


def _shared(several: list[Command]) -> list[Parameter]:
    return [one for one in several[0].options if all(one in other.options for other in several)]


def _table(parameters: Iterable[Parameter]) -> list[str]:
    rows = ["| option | value | meaning |", "|---|---|---|"]
    for one in parameters:
        names = ", ".join(f"`{name}`" for name in (*one.names, *one.off_names))
        value = one.value if not one.argument else ""
        facts = [one.help]
        facts += [f"Default: `{one.default}`."] if one.default else []
        facts += ["Required."] if one.required and not one.argument else []
        rows.append(f"| {names} | {_cell(value)} | {_cell(' '.join(facts))} |")
    return rows


def _sentence(docs: str) -> str:
    return " ".join(docs.split("\n\n")[0].split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
