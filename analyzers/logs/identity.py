"""Who sent a request, from the fields of a row, the body's metadata and the HTTP headers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from analyzers.request import NOBODY, Identity

# What logs call the fields of an Identity; of several names in one row the first listed wins.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "tenant": ("tenant", "tenant_id", "organization_id", "org_id", "organization", "account_id"),
    "workspace": ("workspace", "workspace_id", "project", "project_id", "team_id"),
    "user": ("user", "user_id", "end_user", "safety_identifier"),
    "session": ("session", "session_id", "conversation_id", "thread_id", "trace_id"),
    "adapter": ("adapter", "lora", "lora_name", "adapter_id"),
    "cache_salt": ("cache_salt", "prompt_cache_isolation_key"),
    "prompt_cache_key": ("prompt_cache_key",),
    "route": ("route", "endpoint"),
}
IDENTITY_NAMES: Final = frozenset(name for names in _NAMES.values() for name in names)
_HEADERS: Final = {
    "openai-organization": "tenant",
    "openai-project": "workspace",
    "x-grok-conv-id": "session",
    "x-session-affinity": "session",
    "x-session-id": "session",
}
_SESSION_IN_USER: Final = re.compile(r"(.*?)_?(?:account_(.*?)_)?session_([0-9a-fA-F-]{8,})$")


def identity_of(fields: Mapping[str, Any], labels: Mapping[str, Any] | None = None) -> Identity:
    """The identity of named values; numbers count as names, None and "" as missing.

    `labels` become the identity's labels, one level of nesting written as `name.key`.
    """
    found: dict[str, str] = {}
    for field, names in _NAMES.items():
        for name in names:
            value = _text(fields.get(name))
            if value is not None:
                found[field] = value
                break
    _split_user(found)
    pairs = tuple(sorted(_labels(labels or {})))
    return Identity(**found, labels=pairs) if found or pairs else NOBODY


def headers_of(raw: bytes) -> dict[str, str]:
    """HTTP headers, names in lower case, from a mapping of texts or lists, or a list of name and value."""
    headers = msgspec.json.decode(raw)
    if isinstance(headers, list):
        named = [(h.get("name"), h.get("value")) for h in headers if isinstance(h, dict)]
    elif isinstance(headers, dict):
        named = [(name, v[0] if isinstance(v, list) and v else v) for name, v in headers.items()]
    else:
        named = []
    return {str(name).lower(): value for name, value in named if isinstance(value, str)}


def fields_in_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The identity fields that headers state."""
    return {field: headers[name] for name, field in _HEADERS.items() if name in headers}


def _split_user(found: dict[str, str]) -> None:
    """Claude Code puts its account and session into the user id, as text or as JSON."""
    user = found.get("user", "")
    if user.startswith("{"):
        try:
            parts = msgspec.json.decode(user, type=dict[str, Any])
        except msgspec.DecodeError:
            return
        for field, name in (("session", "session_id"), ("user", "account_uuid"), ("user", "device_id")):
            value = _text(parts.get(name))
            if value is not None and (field == "user" or field not in found):
                found[field] = value
                if name == "account_uuid":
                    break
        return
    match = _SESSION_IN_USER.match(user)
    if match:
        found["user"] = match[1] or user
        found.setdefault("session", match[3])


def _labels(values: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            for key, inner in value.items():
                text = _text(inner)
                if text is not None:
                    yield f"{name}.{key}", text
        else:
            text = _text(value)
            if text is not None:
                yield name, text


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int | float) else None
