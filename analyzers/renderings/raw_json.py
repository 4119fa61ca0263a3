"""JSON values taken apart one level at a time, so that what lies inside stays exactly as sent."""

import json
import re
from typing import Any

import msgspec
from msgspec import Raw

Json = bytes | Raw
Members = dict[str, Raw]

_Opened = str | list[Raw] | dict[str, Raw] | int | float | bool | None
_decode_one_level = msgspec.json.Decoder(_Opened).decode
_decode_any = msgspec.json.Decoder().decode

MARKER_KEYS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
"""Keys under which a cache marker stands in a block: Anthropic (and gateways to it), OpenAI, Bedrock."""

_KEY = re.compile(rb'\s*(,?)\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_TTL = re.compile(r"(\d+)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def opened(value: Json) -> str | list[Raw] | Members | int | float | bool | None:
    """One level of a value: a string, the items of an array, the members of an object in the order sent.

    What is no JSON gives None. Lone surrogates, control characters and bad UTF-8 do not fail.
    """
    try:
        return _decode_one_level(value)
    except msgspec.DecodeError:
        decoded = any_of(value)
    if isinstance(decoded, dict):
        return {key: Raw(json.dumps(inner).encode()) for key, inner in decoded.items()}
    if isinstance(decoded, list):
        return [Raw(json.dumps(inner).encode()) for inner in decoded]
    return decoded  # type: ignore[no-any-return]


def text_of(value: Json) -> str | None:
    """The string that `value` is, None where it is no string."""
    inner = opened(value)
    return inner if isinstance(inner, str) else None


def text_in(members: Members | None, key: str) -> str | None:
    """The string under a key, None where there is none."""
    if members is None or key not in members:
        return None
    inner = opened(members[key])
    return inner if isinstance(inner, str) else None


def members_of(value: Json) -> Members | None:
    """The members of an object in the order sent, None where `value` is none."""
    inner = opened(value)
    return inner if isinstance(inner, dict) else None


def items_of(value: Json) -> list[Raw] | None:
    """The items of an array, None where `value` is none."""
    inner = opened(value)
    return inner if isinstance(inner, list) else None


def any_of(value: Json) -> Any:
    """The value decoded, None where it is no JSON. Lone surrogates stay in the strings."""
    try:
        return _decode_any(value)
    except msgspec.DecodeError:
        pass
    try:
        return json.loads(bytes(value).decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def source_of(value: Json) -> str:
    """The text of a JSON value as it was sent."""
    return bytes(value).decode("utf-8", "replace")


def without_markers(value: Json, members: Members) -> str:
    """The text of an object as sent, less the cache markers on it: as if it had been sent without them."""
    source = bytes(value)
    marked = [key for key in MARKER_KEYS if key in members]
    inner = members.get("function")
    if inner is not None and any(key.encode() in bytes(inner) for key in MARKER_KEYS):
        nested = members_of(inner)
        if nested is not None:
            source = source.replace(bytes(inner), without_markers(inner, nested).encode(), 1)
    for key in marked:
        source = _without_member(source, key)
    return source.decode("utf-8", "replace")


def _without_member(source: bytes, unwanted: str) -> bytes:
    """Cut a member out of the text of an object, with the comma that joined it to its neighbour."""
    members = members_of(source) or {}
    place = source.index(b"{") + 1
    first = True
    for key, value in members.items():
        match = _KEY.match(source, place)
        if match is None or text_of(match[2]) != key:
            break  # a key was sent twice: leave the text alone
        end = match.end() + len(bytes(value))
        if key == unwanted:
            if not first:
                return source[:place] + source[end:]
            rest = re.compile(rb"\s*,\s*").match(source, end)
            return source[: match.start(2)] + source[rest.end() if rest else end :]
        place, first = end, False
    return source


def marker_ttl(members: Members) -> int | None:
    """Lifetime in seconds of the cache marker on an object; -1 where it names none, None without a marker."""
    for key in MARKER_KEYS:
        value = members.get(key)
        if value is not None:
            marker = members_of(value)
            if marker is None:
                continue  # null, as some clients send it for no marker
            ttl = text_of(marker["ttl"]) if "ttl" in marker else None
            match = _TTL.fullmatch(ttl) if ttl else None
            return int(match[1]) * _SECONDS[match[2]] if match else -1
    return None
