"""gzip and zstd streams as bytes, bounded, with a cut or damaged end told from a good one."""

import io
import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from analyzers.errors import InputError

MAX_EXPANSION: Final = 2000
"""Beyond FREE_EXPANSION bytes a compressed file may expand by this factor; deflate itself reaches 1,032."""
FREE_EXPANSION: Final = 2**30
"""Bytes that a file may expand to whatever its size."""
_CHUNK = 1 << 10  # one KiB of zstd can stand for tens of MiB
_BUFFER = 1 << 20


class CutOffError(Exception):
    """The compressed data ends early or is damaged; what came before it was delivered."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def expand(name: str, stored: io.BufferedReader) -> io.BufferedReader:
    """The stream itself, or its decompressed bytes if it is gzip or zstd (told by its first bytes).

    Reading past a cut or damaged end raises CutOffError once all whole lines before it were read, and
    InputError when the data expands beyond what a log can.
    """
    head = stored.peek(4)[:4]
    if head[:2] == b"\x1f\x8b":
        return io.BufferedReader(_Expanded(name, stored, _gzip), _BUFFER)
    if head == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(_Expanded(name, stored, _zstd()), _BUFFER)
    return stored


class _Expanded(io.RawIOBase):
    def __init__(self, name: str, stored: io.BufferedReader, make: Callable[[], _Decompressor]) -> None:
        self._name = name
        self._stored = stored
        self._make = make
        self._active: _Decompressor | None = None
        self._ready = memoryview(b"")
        self._stored_bytes = 0
        self._expanded_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._stored.read(_CHUNK)
            if not data:
                if self._active is not None:
                    raise CutOffError(f"{self._name} ends in the middle of its compressed data")
                return 0
            self._ready = memoryview(self._decompress(data))
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decompress(self, data: bytes) -> bytes:
        self._stored_bytes += len(data)
        expanded = bytearray()
        while data:
            if self._active is None:
                data = data.lstrip(b"\0") if self._expanded_bytes else data  # padding between members
                if not data:
                    break
                self._active = self._make()
            try:
                expanded += self._active.decompress(data)
            except Exception as error:  # zlib.error and zstandard.ZstdError share no base
                if not expanded:
                    raise CutOffError(f"{self._name} has damaged compressed data") from error
                break
            data = b""
            if self._active.eof:
                data = self._active.unused_data
                self._active = None
        self._expanded_bytes += len(expanded)
        if self._expanded_bytes > FREE_EXPANSION + MAX_EXPANSION * self._stored_bytes:
            raise InputError(f"{self._name} expands more than {MAX_EXPANSION} times; this is no log.")
        return bytes(expanded)


def _gzip() -> _Decompressor:
    return zlib.decompressobj(wbits=31)


def _zstd() -> Callable[[], _Decompressor]:
    import zstandard

    window = 2**27
    return lambda: zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
