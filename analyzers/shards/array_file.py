"""Dataclasses of arrays in one file each, written whole or not at all, and read back without loading them.

Layout: the magic word, the length of the header (int64), the header (MessagePack), then the arrays, each at a
multiple of 64 bytes. Only plain values and arrays of plain numbers are read back, so a file can hold no code.
"""

import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec
import numpy as np
import numpy.typing as npt

from analyzers.errors import InputError

_MAGIC = b"pcache\x00\x01"
_ALIGNMENT = 64
_KINDS = "biuf"
T = TypeVar("T")


class _Array(msgspec.Struct, array_like=True):
    """An array of the file: its type as numpy writes it, its shape and the place of its first byte."""

    type: str
    shape: tuple[int, ...]
    start: int


class _Header(msgspec.Struct):
    arrays: dict[str, _Array]
    values: dict[str, msgspec.Raw]


def save_arrays(value: Any, path: Path) -> None:
    """Write a dataclass whose fields are arrays, dataclasses of arrays, and plain values.

    The file appears under its name when it is whole and on disk. Raises OSError.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    values: dict[str, msgspec.Raw] = {}
    for name, leaf in _leaves(value, ""):
        if isinstance(leaf, np.ndarray):
            arrays[name] = np.ascontiguousarray(leaf)
        else:
            values[name] = msgspec.Raw(msgspec.msgpack.encode(leaf))
    placed: dict[str, _Array] = {}
    size = 0
    for name, array in arrays.items():
        start = -(-size // _ALIGNMENT) * _ALIGNMENT
        placed[name] = _Array(array.dtype.str, array.shape, start)
        size = start + array.nbytes
    header = msgspec.msgpack.encode(_Header(placed, values))
    first = _first_byte(len(header))
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(_MAGIC + len(header).to_bytes(8, "little") + header)
            for name, array in arrays.items():
                file.seek(first + placed[name].start)
                file.write(array.data)  # not tofile, whose error on a full disk does not say so
            file.truncate(first + size)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def load_arrays(kind: type[T], path: Path) -> T:
    """Read a dataclass of this kind back. Its arrays are read-only views of the file and cost memory when used.

    Raises InputError for a file that is not whole or holds something else.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(16)
            length = int.from_bytes(head[8:], "little")
            header = msgspec.msgpack.decode(file.read(length), type=_Header) if head[:8] == _MAGIC else None
        if header is None:
            raise InputError(f"{path} is no file of arrays that pcache wrote.")
        stored = np.memmap(path, np.uint8, "r", offset=_first_byte(length)) if header.arrays else None
        arrays = {name: _view(stored, array) for name, array in header.arrays.items()}
        loaded: T = _rebuilt(kind, "", arrays, header.values)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} is damaged: {error}.") from error
    return loaded


def _first_byte(header: int) -> int:
    return -(-(16 + header) // _ALIGNMENT) * _ALIGNMENT


def _view(stored: npt.NDArray[np.uint8] | None, array: _Array) -> npt.NDArray[Any]:
    kind = np.dtype(array.type)
    if kind.kind not in _KINDS:
        raise ValueError(f"an array of {array.type}")
    size = kind.itemsize * int(np.prod(array.shape, dtype=np.int64))
    if not size:
        return np.empty(array.shape, kind)
    if stored is None or array.start < 0 or array.start + size > len(stored):
        raise ValueError("it ends too early")
    return stored[array.start : array.start + size].view(kind).reshape(array.shape)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The arrays and plain values of a dataclass by dotted name; dataclasses without arrays are plain values."""
    kind: type = type(value)
    if is_dataclass(kind) and _holds_arrays(kind):
        for field in fields(kind):
            yield from _leaves(getattr(value, field.name), f"{name}.{field.name}")
    else:
        yield name, value


def _rebuilt(
    kind: Any, name: str, arrays: dict[str, npt.NDArray[Any]], values: dict[str, msgspec.Raw]
) -> Any:
    if name in arrays:
        return arrays[name]
    if isinstance(kind, type) and is_dataclass(kind) and _holds_arrays(kind):
        hints = get_type_hints(kind)
        return kind(
            **{f.name: _rebuilt(hints[f.name], f"{name}.{f.name}", arrays, values) for f in fields(kind)}
        )
    return msgspec.msgpack.decode(values[name], type=kind)


def _holds_arrays(kind: Any) -> bool:
    return any(
        getattr(hint, "__origin__", None) is np.ndarray or (is_dataclass(hint) and _holds_arrays(hint))
        for hint in get_type_hints(kind).values()
    )
