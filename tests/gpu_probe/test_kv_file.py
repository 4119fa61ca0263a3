"""KV files: exact, whole or absent, and refused with the field that differs."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from analyzers.errors import InputError
from gpu_probe import kv_file
from gpu_probe.kv_file import Fingerprint, fingerprint, read_kv, write_kv
from gpu_probe.kv_image import KvMismatchError
from gpu_probe.models import ModelRequest, load_model
from tests.gpu_probe.test_kv_image import SHAPES, state_after


@pytest.fixture
def kept(model, tmp_path: Path) -> tuple[Path, Fingerprint]:
    loaded = model("tiny-llama")
    owner = fingerprint(loaded, torch.arange(40))
    write_kv(tmp_path / "kv.safetensors", state_after(loaded, 40), owner)
    return tmp_path / "kv.safetensors", owner


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_read_is_what_was_written(model, tmp_path: Path, name: str):
    loaded = model(name, "bfloat16")
    image, owner = state_after(loaded, 70), fingerprint(loaded, torch.arange(70))
    written = write_kv(tmp_path / "kv.safetensors", image, owner)
    back = read_kv(tmp_path / "kv.safetensors", owner)
    assert back.layout == image.layout
    assert torch.equal(back.buffer, image.buffer)
    assert written == (tmp_path / "kv.safetensors").stat().st_size
    assert os.listdir(tmp_path) == ["kv.safetensors"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("config_sha256", "0"),
        ("weights_sha256", "0"),
        ("tokenizer_sha256", "0"),
        ("tokens_sha256", "0"),
        ("tokens", 41),
        ("dtype", "bfloat16"),
    ],
)
def test_a_state_that_belongs_elsewhere_is_refused_with_the_field(kept, field: str, value: object):
    path, owner = kept
    with pytest.raises(KvMismatchError, match=f"'{field}' differs") as refused:
        read_kv(path, replace(owner, **{field: value}))
    assert refused.value.field == field


def test_fingerprints_tell_weights_and_prompts_apart(model):
    loaded = model("tiny-llama")
    same = load_model(ModelRequest("tiny-llama", "cpu"))
    other = load_model(ModelRequest("tiny-llama", "cpu", seed=1))
    assert fingerprint(same, torch.arange(9)) == fingerprint(loaded, torch.arange(9))
    assert fingerprint(other, torch.arange(9)).weights_sha256 != loaded.weights_sha256
    assert fingerprint(loaded, torch.arange(9).flip(0)) != fingerprint(loaded, torch.arange(9))


@pytest.mark.parametrize("left", [0, 7, 100, -1000, -1])
def test_a_truncated_file_is_refused(kept, left: int):
    path, owner = kept
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(InputError, match="truncated or no safetensors file"):
        read_kv(path, owner)


def test_a_changed_byte_is_noticed(kept):
    path, owner = kept
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes(content)
    with pytest.raises(KvMismatchError, match="payload_sha256"):
        read_kv(path, owner)


def test_a_foreign_safetensors_file_is_refused(tmp_path: Path, kept):
    _, owner = kept
    save_file({"w": torch.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match="no KV kept by pcache"):
        read_kv(tmp_path / "other.safetensors", owner)
    with pytest.raises(InputError, match="no such file"):
        read_kv(tmp_path / "absent.safetensors", owner)


def test_a_missing_or_reshaped_tensor_is_refused(kept, model):
    path, owner = kept
    description = kv_file.describe(read_kv(path, owner), owner).decode()
    tensors = load_file(path)
    held = tensors.pop("3.values")
    save_file(tensors, path, metadata={"pcache": description})
    with pytest.raises(KvMismatchError, match="'tensors' differs"):
        read_kv(path, owner)
    save_file(tensors | {"3.values": held.flatten()}, path, metadata={"pcache": description})
    with pytest.raises(KvMismatchError, match=r"'3\.values' differs"):
        read_kv(path, owner)


def test_a_later_format_is_refused(kept):
    path, owner = kept
    description = kv_file.describe(read_kv(path, owner), owner).decode()
    later = description.replace(kv_file.FORMAT, "pcache-kv-9")
    save_file(load_file(path), path, metadata={"pcache": later})
    with pytest.raises(KvMismatchError, match="'format' differs: found pcache-kv-9"):
        read_kv(path, owner)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(kept, model, monkeypatch, tmp_path: Path):
    path, owner = kept
    before = path.read_bytes()

    def half_then_full(tensors, name, metadata):
        Path(name).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kv_file, "save_file", half_then_full)
    with pytest.raises(OSError, match="No space left"):
        write_kv(path, state_after(model("tiny-llama"), 40), owner)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
