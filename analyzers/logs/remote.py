"""Files on other machines, opened through fsspec: s3://, gs://, az://, memory:// and whatever else it knows."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from analyzers.errors import InputError, PcacheError, UsageError
from analyzers.logs.inputs import Version

_SCALE: Final = "pip install 'pcache-cli[scale]'"
_INSTALL: Final = {
    "s3": _SCALE,
    "s3a": _SCALE,
    "gs": f"{_SCALE} gcsfs",
    "gcs": f"{_SCALE} gcsfs",
    "az": f"{_SCALE} adlfs",
    "abfs": f"{_SCALE} adlfs",
    "abfss": f"{_SCALE} adlfs",
    "adl": f"{_SCALE} adlfs",
}
_BUFFER = 1 << 20
_AHEAD = 2 << 20
"""Bytes fetched beyond those asked for: a request for its head costs little, and few requests read it whole."""
_LONGEST_REASON = 300


class Kind(Enum):
    """What a remote input names."""

    FILE = "file"
    FOLDER = "folder"
    GLOB = "glob"


@dataclass(frozen=True, slots=True)
class Found:
    """The files that a remote input names, with their scheme. Those of a folder are all below it."""

    kind: Kind
    names: list[str]
    folder: str = ""

    def relative(self, name: str) -> str:
        """The name of a file of a folder, from the folder on."""
        return name.removeprefix(self.folder).lstrip("/")


def find_remote(url: str) -> Found:
    """The files of one input. Raises InputError if it names none or cannot be reached, UsageError as `_system`."""
    system, path = _system(url)
    try:
        try:
            about = system.info(path)
        except FileNotFoundError:
            about = None
        if about is not None and about["type"] == "directory":
            below = system.find(path)
            return Found(Kind.FOLDER, [system.unstrip_protocol(name) for name in below], _name(system, path))
        if about is not None:
            return Found(Kind.FILE, [url])
        if any(sign in path for sign in "*?["):
            names = [name for name, each in system.glob(path, detail=True).items() if each["type"] == "file"]
            if names:
                return Found(Kind.GLOB, [system.unstrip_protocol(name) for name in names])
            raise InputError(f"No file matches {url}, or it cannot be reached.")
    except Exception as error:
        raise _told(url, error) from error
    raise InputError(f"{url} does not exist or cannot be reached: name a file, a folder or a glob.")


@contextmanager
def open_remote(url: str) -> Iterator[io.BufferedReader]:
    """The bytes as stored. Whatever goes wrong on the other side is raised as InputError, while reading too."""
    system, path = _system(url)
    try:
        file = system.open(path, "rb", block_size=_AHEAD, cache_type="readahead")
    except Exception as error:
        raise _told(url, error) from error
    stream: io.BufferedReader = io.BufferedReader(_Told(url, file), _BUFFER)
    with stream:
        yield stream


def version_of(url: str) -> Version:
    """Size and stamp of a file. Raises InputError if it cannot be reached."""
    system, path = _system(url)
    try:
        about = system.info(path)
    except Exception as error:
        raise _told(url, error) from error
    stamps = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "mtime", "created")
    size = about.get("size")
    return Version(
        size if isinstance(size, int) else None, str(next(filter(None, map(about.get, stamps)), ""))
    )


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL and the path in it. Raises UsageError if no package for its scheme is installed."""
    scheme = url.partition("://")[0]
    install = _INSTALL.get(scheme, _SCALE)
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except ImportError as error:
        reason = "" if scheme in _INSTALL else f" ({_reason(error)})"
        raise UsageError(f"{scheme}:// needs a package that is not installed: {install}{reason}.") from error
    except ValueError as error:
        raise UsageError(f"{url} cannot be read: {_reason(error)}.") from error
    except Exception as error:
        raise _told(url, error) from error
    return system, str(path)


class _Told(io.RawIOBase):
    """A remote file whose errors are InputErrors."""

    def __init__(self, url: str, file: Any) -> None:
        self._url = url
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer).cast("B")
        try:
            data = self._file.read(len(target))
        except Exception as error:
            raise _told(self._url, error) from error
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _name(system: Any, path: str) -> str:
    return str(system.unstrip_protocol(path))


def _told(url: str, error: Exception) -> PcacheError:
    if isinstance(error, PcacheError):
        return error
    if isinstance(error, FileNotFoundError):
        return InputError(f"{url} does not exist, or its bucket does not.")
    if isinstance(error, PermissionError):
        return InputError(f"{url} may not be read: {_reason(error)}; check the credentials.")
    return InputError(f"{url} cannot be read: {_reason(error)}.")


def _reason(error: Exception) -> str:
    """What an error says, in one line."""
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return said if len(said) <= _LONGEST_REASON else said[:_LONGEST_REASON] + "..."
