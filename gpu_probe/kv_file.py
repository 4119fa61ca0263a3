"""Kept KV as a safetensors file: tensors by name, and a JSON description with the fingerprints of what the
state belongs to. Nothing is pickled; a file is written whole or not at all."""

import dataclasses
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from analyzers.errors import InputError
from gpu_probe.kv_image import KvImage, KvLayout, KvMismatchError, view
from gpu_probe.models import LoadedModel

FORMAT = "pcache-kv-1"


@dataclass(frozen=True)
class Fingerprint:
    """What a kept state belongs to; two states with equal fingerprints are interchangeable."""

    config_sha256: str
    weights_sha256: str
    tokenizer_sha256: str | None
    tokens_sha256: str
    tokens: int
    dtype: str


@dataclass(frozen=True)
class Description:
    """The metadata of a file. The versions are for people: a release that keeps state differently is found
    by the layout."""

    format: str
    fingerprint: Fingerprint
    layout: KvLayout
    payload_sha256: str | None
    versions: dict[str, str]


def fingerprint(loaded: LoadedModel, ids: torch.Tensor) -> Fingerprint:
    """The fingerprint of the state after the tokens `ids` (any shape, in order)."""
    tokens = ids.reshape(-1).to("cpu", torch.int64).contiguous()
    return Fingerprint(
        config_sha256=loaded.card.config_sha256,
        weights_sha256=loaded.weights_sha256,
        tokenizer_sha256=loaded.tokenizer_sha256,
        tokens_sha256=hashlib.sha256(tokens.numpy().tobytes()).hexdigest(),
        tokens=tokens.numel(),
        dtype=loaded.card.dtype,
    )


def describe(image: KvImage, owner: Fingerprint, *, hash_payload: bool = True) -> bytes:
    """The description of the image as JSON; the image lies in host memory."""
    import transformers

    versions = {"torch": str(torch.__version__), "transformers": str(transformers.__version__)}
    payload = payload_sha256(image) if hash_payload else None
    return msgspec.json.encode(Description(FORMAT, owner, image.layout, payload, versions))


def payload_sha256(image: KvImage) -> str:
    """SHA-256 over the tensors' bytes in layout order, without padding; the image lies in host memory."""
    digest = hashlib.sha256()
    for spec in image.layout.tensors:
        digest.update(memoryview(image.buffer[spec.offset : spec.offset + spec.nbytes].numpy()))
    return digest.hexdigest()


def parse_description(text: str | bytes, where: str, expected: Fingerprint) -> Description:
    """The description, checked against what the caller needs. Raises KvMismatchError naming the field."""
    try:
        found_format = json.loads(text)["format"]
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{where}: no KV kept by pcache") from problem
    if found_format != FORMAT:
        raise KvMismatchError(where, "format", found_format, FORMAT)
    try:
        description = msgspec.json.decode(text, type=Description)
    except msgspec.DecodeError as problem:
        raise InputError(f"{where}: damaged description ({problem})") from problem
    for field in dataclasses.fields(Fingerprint):
        found, wanted = getattr(description.fingerprint, field.name), getattr(expected, field.name)
        if found != wanted:
            raise KvMismatchError(where, field.name, found, wanted)
    return description


def write_kv(path: Path, image: KvImage, owner: Fingerprint, *, hash_payload: bool = True) -> int:
    """Write the image (host memory) to the path, atomically and flushed to the disk; returns the file's bytes.

    Without `hash_payload` a changed byte goes unnoticed: for timing only. Raises OSError (the disk is full, no permission); nothing is left behind then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            description = describe(image, owner, hash_payload=hash_payload).decode()
            save_file(image.tensors(), temporary, metadata={"pcache": description})
        except SafetensorError as problem:
            # safetensors wraps the system's errors into its own.
            raise OSError(f"{path}: cannot be written ({problem})") from problem
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path.stat().st_size


def read_kv(
    path: Path, expected: Fingerprint, into: torch.Tensor | None = None, *, check_payload: bool = True
) -> KvImage:
    """The image in the file, in host memory; `into` is a uint8 buffer to reuse (at least as long).

    Without `check_payload` the bytes are not hashed: for timing only. Raises InputError or KvMismatchError.
    """
    where = str(path)
    try:
        with safe_open(path, framework="pt") as file:
            description = parse_description((file.metadata() or {}).get("pcache", ""), where, expected)
            image = _read_tensors(file, description.layout, where, into)
    except SafetensorError as problem:
        raise InputError(f"{where}: truncated or no safetensors file ({problem})") from problem
    except FileNotFoundError as problem:
        raise InputError(f"{where}: no such file") from problem
    if check_payload and description.payload_sha256 != (found := payload_sha256(image)):
        raise KvMismatchError(where, "payload_sha256", description.payload_sha256, found)
    return image


def _read_tensors(file: Any, layout: KvLayout, where: str, into: torch.Tensor | None) -> KvImage:
    names, wanted = sorted(file.keys()), sorted(spec.key for spec in layout.tensors)
    if names != wanted:
        raise KvMismatchError(where, "tensors", names, wanted)
    if into is None:
        into = torch.zeros(layout.buffer_bytes, dtype=torch.uint8)
    buffer = into[: layout.buffer_bytes]
    for spec in layout.tensors:
        mapped = file.get_tensor(spec.key)
        found = (str(mapped.dtype).removeprefix("torch."), tuple(mapped.shape))
        if found != (spec.dtype, spec.shape):
            raise KvMismatchError(where, spec.key, found, (spec.dtype, spec.shape))
        view(buffer, spec).copy_(mapped)
    return KvImage(layout, buffer)
