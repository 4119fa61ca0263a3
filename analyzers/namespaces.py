"""Who may share a cache: the fields two requests must agree in."""

from collections.abc import Callable, Sequence

import numpy as np

from analyzers.errors import UsageError
from analyzers.request import Request
from analyzers.trace import MISSING, Int32, Names

_SHARING_FIELDS = ("tenant", "workspace", "adapter", "cache_salt")
_IDENTITY_FIELDS = (*_SHARING_FIELDS, "user", "session", "prompt_cache_key", "route")


def default_namespace(requests: Sequence[Request]) -> tuple[str, ...]:
    """The model, and each of tenant, workspace, adapter and cache salt that any request names."""
    identities = {r.identity for r in requests}
    named = [f for f in _SHARING_FIELDS if any(getattr(i, f) is not None for i in identities)]
    return ("model", *named)


def _field_reader(name: str, requests: Sequence[Request]) -> Callable[[Request], str | None]:
    if name in ("model", "provider"):
        return lambda request: getattr(request, name)
    if name in _IDENTITY_FIELDS:
        return lambda request: getattr(request.identity, name)
    labels = sorted({label for r in requests for label, _ in r.identity.labels})
    if name in labels:
        return lambda request: dict(request.identity.labels).get(name)
    known = ", ".join(["model", "provider", *_IDENTITY_FIELDS, *labels])
    raise UsageError(
        f"'{name}' is no field of this log that requests can be told apart by; there are: {known}"
    )


def number_namespaces(requests: Sequence[Request], fields: tuple[str, ...]) -> tuple[Int32, tuple[str, ...]]:
    """The namespace of each request (int32 from 0) and the label of each namespace.

    Raises UsageError for a field that the log does not have.
    """
    readers = [_field_reader(name, requests) for name in fields]
    known: dict[tuple[str | None, ...], int] = {}
    codes = np.empty(len(requests), np.int32)
    for i, request in enumerate(requests):
        codes[i] = known.setdefault(tuple(read(request) for read in readers), len(known))
    labels = tuple(
        ", ".join(f"{f}={v if v is not None else '?'}" for f, v in zip(fields, values, strict=True)) or "all"
        for values in known
    )
    return codes, labels


def field_values(requests: Sequence[Request], name: str) -> Names:
    """A field of the requests (model, provider, an identity field or a label) as a dictionary-encoded column."""
    read = _field_reader(name, requests)
    known: dict[str, int] = {}
    codes = np.empty(len(requests), np.int32)
    for i, request in enumerate(requests):
        value = read(request)
        codes[i] = MISSING if value is None else known.setdefault(value, len(known))
    return Names(codes, list(known))
