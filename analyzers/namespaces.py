"""Who may share a cache: the fields two requests must agree in."""

import numpy as np

from analyzers.errors import UsageError
from analyzers.request_rows import RequestRows, by_identity, in_order_of_appearance
from analyzers.trace import MISSING, Int32, Names

_SHARING_FIELDS = ("tenant", "workspace", "adapter", "cache_salt")
_IDENTITY_FIELDS = (*_SHARING_FIELDS, "user", "session", "prompt_cache_key", "route")


def default_namespace(rows: RequestRows) -> tuple[str, ...]:
    """The model, and each of tenant, workspace, adapter and cache salt that any request names."""
    identities = [rows.identities[code] for code in np.unique(rows.identity).tolist()]
    named = [f for f in _SHARING_FIELDS if any(getattr(i, f) is not None for i in identities)]
    return ("model", *named)


def field_values(rows: RequestRows, name: str) -> Names:
    """A field of the requests (model, provider, an identity field or a label) as a dictionary-encoded column.

    Raises UsageError for a field that the log does not have.
    """
    if name in ("model", "provider"):
        return in_order_of_appearance(getattr(rows, name))
    if name in _IDENTITY_FIELDS:
        return by_identity(rows, lambda identity: getattr(identity, name))
    used = [rows.identities[code] for code in np.unique(rows.identity).tolist()]
    labels = sorted({label for identity in used for label, _ in identity.labels})
    if name in labels:
        return by_identity(rows, lambda identity: dict(identity.labels).get(name))
    known = ", ".join(["model", "provider", *_IDENTITY_FIELDS, *labels])
    raise UsageError(
        f"'{name}' is no field of this log that requests can be told apart by; there are: {known}"
    )


def number_namespaces(rows: RequestRows, fields: tuple[str, ...]) -> tuple[Int32, tuple[str, ...]]:
    """The namespace of each request (int32, numbered in the order of appearance) and the label of each namespace.

    Raises UsageError for a field that the log does not have.
    """
    columns = [field_values(rows, name) for name in fields]
    codes = np.zeros(len(rows), np.int64)
    for column in columns:
        # Kept small by numbering anew, so that many fields with many values do not overflow.
        codes = np.unique(codes * (len(column.values) + 1) + column.codes - MISSING, return_inverse=True)[1]
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    labels = tuple(
        ", ".join(f"{f}={_shown(c.of(row))}" for f, c in zip(fields, columns, strict=True)) or "all"
        for row in np.sort(first).tolist()
    )
    return number[codes], labels


def _shown(value: str | None) -> str:
    return "?" if value is None else value
