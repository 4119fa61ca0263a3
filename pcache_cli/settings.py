"""Settings from the nearest pyproject.toml (`[tool.pcache]`) or pcache.toml; options on the command line win.

    [tool.pcache]
    tokenizer = "o200k"

    [tool.pcache.lint]
    ignore = ["PC102"]
    model = "claude-sonnet-5"
    requests-per-day = 20000

    [tool.pcache.lint.volatility]
    banner = "release"
    "customer.*" = "tenant"

An unknown key is an error, so that a slip does not silently switch a check off.
"""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from analyzers.errors import InputError, UsageError


@dataclass(frozen=True)
class LintSettings:
    """`per_file_ignores`: rules by glob. `volatility`: scope by variable name or pattern. `roots`: folders that
    templates are included from. `filters`: the project's own Jinja filters."""

    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    per_file_ignores: dict[str, list[str]] = field(default_factory=dict)
    exclude: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    volatility: dict[str, str] = field(default_factory=dict)
    fail_level: str | None = None
    baseline: str | None = None
    lock_file: str | None = None
    model: str | None = None
    requests_per_day: int | None = None


@dataclass(frozen=True)
class Settings:
    """`folder` is where the settings were found: relative paths in them start there. None: no file."""

    tokenizer: str | None = None
    lint: LintSettings = field(default_factory=LintSettings)
    folder: Path | None = None


def load_settings(start: Path | None = None) -> Settings:
    """The settings that hold in the folder `start` (the current one). Raises InputError and UsageError."""
    for folder in _upwards((start or Path.cwd()).resolve()):
        for name in ("pcache.toml", "pyproject.toml"):
            path = folder / name
            table = _table(path) if path.is_file() else None
            if table is not None:
                return _settings(table, path)
    return Settings()


def _upwards(folder: Path) -> list[Path]:
    return [folder, *folder.parents]


def _table(path: Path) -> dict[str, Any] | None:
    """The tool's table of the file, None for a pyproject.toml that has none."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InputError(f"cannot read the settings in {path}: {problem}") from None
    if path.name == "pcache.toml":
        return document
    found = document.get("tool", {}).get("pcache")
    return found if isinstance(found, dict) else None


def _settings(table: dict[str, Any], path: Path) -> Settings:
    lint = _filled(LintSettings, table.get("lint", {}), path, "lint.")
    top = {key: value for key, value in table.items() if key != "lint"}
    filled: Settings = _filled(Settings, top, path, "")
    return Settings(filled.tokenizer, lint, path.parent)


def _filled(kind: type[Any], table: Any, path: Path, prefix: str) -> Any:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: '{prefix.rstrip('.')}' must be a table")
    hints = get_type_hints(kind)
    known = {
        one.name.replace("_", "-"): one.name for one in fields(kind) if one.name not in ("lint", "folder")
    }
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = known.get(key)
        if name is None:
            raise UsageError(
                f"{path}: there is no setting '{prefix}{key}'; there are {', '.join(sorted(known))}"
            )
        if not _fits(value, hints[name]):
            raise UsageError(f"{path}: '{prefix}{key}' must be {_words(hints[name])}")
        values[name] = value
    return kind(**values)


def _fits(value: object, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, arguments[1]) for item in value.values())
    if arguments:
        return any(_fits(value, one) for one in arguments if one is not type(None))
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))


def _words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list:
        return "a list of texts"
    if origin is dict:
        return f"a table of {'lists' if get_origin(arguments[1]) is list else 'texts'}"
    return "a whole number" if int in (hint, *arguments) else "a text"
