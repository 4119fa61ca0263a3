"""The files that a run of the linter looks at."""

import glob
import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from analyzers.errors import InputError
from analyzers.templates.front_ends import ALWAYS, IN_PROMPT_FOLDERS, SOURCE_CODE

_SKIPPED_FOLDERS = {
    "node_modules", "venv", "env", "site-packages", "__pycache__", "build", "dist", "target", "vendor",
}  # fmt: skip
_BY_NAME = {"tokenizer_config.json", "chat_template.json"}


def find_files(inputs: Iterable[str], exclude: Iterable[str] = ()) -> list[Path]:
    """The files that the inputs (files, folders, globs) name, each once, in order.

    A file that is named is always taken. In folders, templates are taken by their suffix, and text, YAML, TOML
    and JSON files where their path names prompts. Raises InputError for an input that names nothing.
    """
    patterns = tuple(exclude)
    found: dict[Path, None] = {}
    for text in inputs:
        path = Path(text)
        if path.is_dir():
            found.update(dict.fromkeys(_inside(path, patterns)))
        elif path.exists():
            found[path] = None
        else:
            matches = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
            if not matches:
                raise InputError(f"there is no file or folder '{text}'")
            for match in matches:
                one = Path(match)
                found.update(dict.fromkeys(_inside(one, patterns)) if one.is_dir() else {one: None})
    return [path for path in found if not _excluded(path, patterns)]


def _inside(folder: Path, exclude: tuple[str, ...]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED_FOLDERS
            and not name.startswith(".")
            and not name.endswith(".egg-info")
            and not _excluded(Path(place, name), exclude)
        )
        for name in sorted(names):
            path = Path(place, name)
            if _is_template(path, folder):
                yield path


def _is_template(path: Path, root: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix in ALWAYS or suffix in SOURCE_CODE or path.name in _BY_NAME:
        return True
    if suffix not in IN_PROMPT_FOLDERS:
        return False
    inside = path.relative_to(root).parts if root != Path(".") else path.parts
    return any("prompt" in part.lower() for part in (*inside, root.resolve().name))


def _excluded(path: Path, patterns: tuple[str, ...]) -> bool:
    shown = path.as_posix()
    return any(
        fnmatchcase(shown, pattern)
        or fnmatchcase(path.name, pattern)
        or f"/{pattern.strip('/')}/" in f"/{shown}/"
        for pattern in patterns
    )
