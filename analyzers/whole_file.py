"""Files that appear under their name when they are whole, also where several processes write the same one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of the one at `path` when the context ends, with its permissions if there
    is one; when it ends with an error, nothing is left of it. A symbolic link goes on pointing to where it did.

    It lies in the same folder meanwhile. Raises OSError.
    """
    target = Path(path).resolve()
    unfinished = target.with_name(f".pcache-{token_hex(8)}.unfinished")
    try:
        with open(unfinished, "xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
