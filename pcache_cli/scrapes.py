"""Scrapes as a person names them: a file, `-`, or the address of a /metrics page."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import InputError, UsageError

if TYPE_CHECKING:
    from simulators.metrics_scrape import CacheCounters

_LARGEST_BYTES = 64 * 2**20
_PATIENCE_S = 10.0


def read_counters(sources: list[str]) -> "CacheCounters":
    """The counters of one scrape, or what was counted between two. Raises UsageError and InputError."""
    from simulators.metrics_scrape import between, cache_counters, parse_scrape

    if len(sources) > 2:
        raise UsageError(f"--metrics takes one scrape or two, before and after, not {len(sources)}")
    counters = [cache_counters(parse_scrape(_text(source), source), source) for source in sources]
    return counters[0] if len(counters) == 1 else between(counters[0], counters[1])


def _text(source: str) -> str:
    if source.startswith(("http://", "https://")):
        return _fetch(source)
    if source == "-":
        return sys.stdin.read(_LARGEST_BYTES)
    try:
        with Path(source).open("rb") as file:
            return file.read(_LARGEST_BYTES).decode("utf-8", "replace")
    except OSError as problem:
        raise InputError(f"the scrape {source} cannot be read ({problem.strerror})") from None


def _fetch(address: str) -> str:
    from urllib.request import urlopen

    try:
        with urlopen(address, timeout=_PATIENCE_S) as answer:
            content: bytes = answer.read(_LARGEST_BYTES)
    except (OSError, ValueError) as problem:
        raise InputError(
            f"{address} cannot be scraped ({problem}); give a file with what it returned"
        ) from None
    return content.decode("utf-8", "replace")
