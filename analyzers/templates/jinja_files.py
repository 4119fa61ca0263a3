"""Where `include`, `import` and `extends` find their files, each parsed once."""

from dataclasses import dataclass, field
from pathlib import Path

from analyzers.templates.jinja_source import JinjaSource, parse_jinja
from analyzers.templates.reading import read_text


@dataclass
class JinjaFiles:
    """Parses files below `roots` and the folder of the file that names them. One object a run."""

    roots: tuple[Path, ...] = ()
    parsed: dict[Path, JinjaSource] = field(default_factory=dict)

    def find(self, name: str, beside: str) -> Path | None:
        """The file that an include of `name` in the file `beside` means: its own folder and those above it,
        up to the project's root, are searched, then the roots. Names that lead out of them are refused."""
        wanted = Path(name)
        if wanted.is_absolute() or ".." in wanted.parts:
            return None
        folder = Path(beside).resolve().parent
        for place in (*_upwards(folder), *self.roots):
            for candidate in (place / wanted, place / "templates" / wanted, place / "prompts" / wanted):
                if candidate.is_file():
                    return candidate
        return None

    def load(self, path: Path) -> JinjaSource:
        """The parsed file. Raises JinjaSyntaxError, and InputError where it cannot be read."""
        key = path.resolve()
        if key not in self.parsed:
            self.parsed[key] = parse_jinja(str(path), read_text(path).text, chat=False)
        return self.parsed[key]


def _upwards(folder: Path) -> list[Path]:
    """The folder and those above it, up to the one that holds the project."""
    found = []
    for place in (folder, *folder.parents):
        found.append(place)
        if len(found) >= 8 or any(
            (place / mark).exists() for mark in (".git", "pyproject.toml", "pcache.toml")
        ):
            break
    return found
