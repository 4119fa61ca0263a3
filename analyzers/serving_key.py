"""The logical key of a cached prefix, from a serving manifest; and whether two manifests may share a cache.

A manifest says with what a deployment serves: who (tenant, authorisation scope), with what model (digests of
weights, tokenizer, chat template, adapter, RoPE configuration, KV format), over what (document and policy
versions), and how it samples. The key is the SHA-256 of the canonical JSON of the fields that take part; the
tokens of the prefix come on top.
"""

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from analyzers.errors import InputError
from analyzers.serving_key_fields import FIELDS, GROUPS, KeyField, Reason, field_called

LARGEST_MANIFEST = 10_000_000
"""Bytes above which a file is no manifest."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of a manifest with its value in canonical form."""

    field: KeyField
    value: Any


@dataclass(frozen=True, slots=True)
class ServingKey:
    """What a manifest says of its key.

    `digest` (64 hexadecimal digits) is None while a required field is missing: a key without it would let share
    what must not. `unjudged` are paths in the manifest that no field is known for.
    """

    digest: str | None
    takes_part: tuple[Entry, ...]
    need_not: tuple[Entry, ...]
    missing: tuple[KeyField, ...]
    unjudged: tuple[tuple[str, Any], ...]


class Verdict(StrEnum):
    """Whether two manifests may share cached prefixes."""

    MAY = "may share"
    MUST_NOT = "must not share"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two manifests differ. `forbids` is None where the field is not known or one lacks it."""

    name: str
    why: str
    reason: Reason | None
    forbids: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two manifests: the verdict and every difference, the forbidding ones first."""

    verdict: Verdict
    differences: tuple[Difference, ...]
    key: ServingKey
    other: ServingKey


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest from a JSON, YAML or TOML file. Raises InputError for anything but a mapping."""
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            raise InputError(f"{path} is larger than {LARGEST_MANIFEST:,} bytes, so it is no manifest")
        text = path.read_text("utf-8")
        value = _READERS.get(path.suffix, _read_yaml)(text)
    except OSError as error:
        raise InputError(f"cannot read the manifest {path}: {error.strerror or error}") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} is no JSON, YAML or TOML: {first}") from error
    if not isinstance(value, dict) or not value:
        raise InputError(
            f"{path} holds no manifest: it must map names such as weights or tenant to their values"
        )
    return value


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML without aliases, which could make a small file endless."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases have no place in a manifest")
        return super().compose_node(parent, index)


def _read_yaml(text: str) -> Any:
    return yaml.load(text, Loader=_PlainLoader)


_READERS: dict[str, Callable[[str], Any]] = {".json": json.loads, ".toml": tomllib.loads}


def serving_key(manifest: Mapping[str, Any]) -> ServingKey:
    """The key of a manifest. Raises InputError where it names one field twice with different values."""
    entries: dict[str, Entry] = {}
    unjudged: list[tuple[str, Any]] = []
    for path, field, value in _leaves(manifest):
        if field is None:
            unjudged.append((path, value))
            continue
        known = entries.get(field.name)
        if known is not None and known.value != value:
            raise InputError(
                f"the manifest names {field.name} twice with different values (the second time as {path}); keep one"
            )
        entries[field.name] = Entry(field, value)
    order = [entries[field.name] for field in FIELDS if field.name in entries]
    takes_part = tuple(entry for entry in order if entry.field.reason is not Reason.NONE)
    missing = tuple(field for field in FIELDS if field.required and field.name not in entries)
    return ServingKey(
        digest=None if missing else _digest(takes_part),
        takes_part=takes_part,
        need_not=tuple(entry for entry in order if entry.field.reason is Reason.NONE),
        missing=missing,
        unjudged=tuple(unjudged),
    )


def compare_keys(key: ServingKey, other: ServingKey) -> Comparison:
    """Which differences forbid sharing and which do not."""
    differences: list[Difference] = []
    own, theirs = _values(key), _values(other)
    for field in FIELDS:
        if field.name in own and field.name in theirs:
            if own[field.name] != theirs[field.name]:
                forbids = field.reason is not Reason.NONE
                differences.append(Difference(field.name, field.why, field.reason, forbids))
        elif field.name in own or field.name in theirs:
            takes_part = field.reason is not Reason.NONE
            lacks = "only one of the two names it; " if takes_part else ""
            differences.append(
                Difference(field.name, lacks + field.why, field.reason, None if takes_part else False)
            )
        elif field.required:
            differences.append(Difference(field.name, f"neither names it; {field.why}", field.reason, None))
    mine, others = dict(key.unjudged), dict(other.unjudged)
    for path in sorted(mine.keys() | others.keys()):
        if path not in mine or path not in others or mine[path] != others[path]:
            why = "no field of this name is known, so whether the KV depends on it is yours to say"
            differences.append(Difference(path, why, None, None))
    differences.sort(key=lambda d: (d.forbids is not True, d.forbids is not None))
    if any(difference.forbids for difference in differences):
        verdict = Verdict.MUST_NOT
    elif any(difference.forbids is None for difference in differences):
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.MAY
    return Comparison(verdict, tuple(differences), key, other)


def _values(key: ServingKey) -> dict[str, Any]:
    return {entry.field.name: entry.value for entry in (*key.takes_part, *key.need_not)}


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, KeyField | None, Any]]:
    """Fields with their canonical values; a mapping under a group's or an unknown name is looked into."""
    for name, inner in value.items():
        path = f"{prefix}.{name}" if prefix else str(name)
        field = field_called(path)
        if isinstance(inner, Mapping) and inner and (field is None or field.name in GROUPS):
            yield from _leaves(inner, path)
        else:
            yield path, field, _canonical(inner)


def _canonical(value: Any) -> Any:
    """Equal things in one form: digests in lower case without their prefix, lists as sets, none as null."""
    if isinstance(value, Mapping):
        return {
            str(key): _canonical(inner) for key, inner in sorted(value.items(), key=lambda item: str(item[0]))
        }
    if isinstance(value, list | tuple | set):
        return sorted(
            (_canonical(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True)
        )
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in ("", "none", "null"):
            return None
        digest = text.lower().removeprefix("sha256:")
        return digest if len(digest) == 64 and set(digest) <= set("0123456789abcdef") else text
    return value if isinstance(value, bool | int | float | None) else str(value)


def _digest(entries: tuple[Entry, ...]) -> str:
    named = {entry.field.name: entry.value for entry in entries}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
