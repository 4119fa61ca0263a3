"""A file of text as it stands: decoded, with its line ends and byte order mark noted."""

from dataclasses import dataclass
from pathlib import Path

from analyzers.errors import InputError

LARGEST_FILE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileText:
    """`text` has `\\n` line ends only; `windows_lines` of its `lines` ended in `\\r\\n` (or `\\r`)."""

    text: str
    had_bom: bool
    windows_lines: int
    lines: int


def read_text(path: Path) -> FileText:
    """The file's text. Raises InputError when it is missing, too large or not UTF-8."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise InputError(f"{path} has {size:,} bytes; files up to 64 MiB are checked")
        data = path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror or problem}") from None
    return decode(data, str(path))


def decode(data: bytes, name: str) -> FileText:
    """The text of UTF-8 bytes. Raises InputError with line and column of the first byte that is not."""
    had_bom = data.startswith(b"\xef\xbb\xbf")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}:1:1: the file is UTF-16; save it as UTF-8")
    try:
        text = data[3:].decode() if had_bom else data.decode()
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        byte = data[problem.start]
        raise InputError(
            f"{name}:{line}:{column}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    windows = text.count("\r\n")
    lone = text.count("\r") - windows
    lines = text.count("\n") + lone
    if windows or lone:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return FileText(text, had_bom, windows + lone, lines)
