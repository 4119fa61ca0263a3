"""Every tier gives back the bytes it was given, or a stated approximation of them."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from analyzers.errors import UsageError
from gpu_probe.kv_file import fingerprint
from gpu_probe.kv_image import KvImage
from gpu_probe.tiers import disk as disk_module
from gpu_probe.tiers.base import Tier, TierFailedError
from gpu_probe.tiers.disk import DiskTier
from gpu_probe.tiers.memory import MemoryTier, PerLayerTier
from gpu_probe.tiers.quantised import QuantisedTier
from gpu_probe.tiers.redis import RedisTier, connect
from gpu_probe.verify import exam_ids, examine, logit_error
from tests.gpu_probe.test_kv_image import state_after

HOST = torch.device("cpu")


def memory(pool_bytes: int = 0) -> MemoryTier:
    return MemoryTier("pageable", HOST, pinned=False, pool_bytes=pool_bytes)


def round_trip(tier: Tier, image: KvImage) -> torch.Tensor:
    tier.store(image)
    tier.prepare()
    into = torch.full_like(image.buffer, 7)
    tier.restore(into)
    return into


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
    )
    url = f"redis://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                connect(url).close()
                break
            except UsageError:
                time.sleep(0.05)
        yield url
    finally:
        server.terminate()
        server.wait()


needs_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="the redis-server of the system is not installed"
)


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-gemma3", "tiny-granite-hybrid"])
def test_memory_and_disk_give_back_every_byte(model, tmp_path: Path, name: str):
    loaded = model(name, "bfloat16")
    owner = fingerprint(loaded, torch.arange(70))
    for image in (state_after(loaded, 70), state_after(loaded, 30)):
        tiers: list[Tier] = [
            memory(),
            memory(pool_bytes=4 * image.buffer.numel()),
            PerLayerTier(memory()),
            DiskTier(tmp_path, owner, cold=False),
            DiskTier(tmp_path, owner, cold=True),
        ]
        for tier in tiers:
            assert torch.equal(round_trip(tier, image), image.buffer), tier.name
            tier.close()
    assert list(tmp_path.iterdir()) == []


def test_a_stored_image_replaces_the_last_one_in_every_rotating_copy(model):
    image = state_after(model("tiny-llama"), 20)
    tier = memory(pool_bytes=5 * image.buffer.numel())
    round_trip(tier, image)
    other = KvImage(image.layout, image.buffer.flip(0))
    tier.store(other)
    for _ in range(7):
        tier.prepare()
        into = torch.zeros_like(image.buffer)
        tier.restore(into)
        assert torch.equal(into, other.buffer)


@pytest.mark.parametrize(
    ("encoding", "dtype", "ratio"),
    [
        ("fp8", "float32", 1 / 4),
        ("fp8", "bfloat16", 1 / 2),
        ("int8", "float32", 1 / 4),
        ("int8", "bfloat16", 1 / 2),
    ],
)
def test_one_byte_an_element_is_kept_and_errors_stay_small(model, encoding: str, dtype: str, ratio: float):
    loaded = model("tiny-llama", dtype)
    image = state_after(loaded, 70)
    tier = QuantisedTier(memory(), encoding)
    restored = KvImage(image.layout, round_trip(tier, image))
    # int8 adds a scale of 4 bytes to every 32 elements of a token and head.
    scales = 4 / 32 / image.tensors()["0.keys"].element_size() if encoding == "int8" else 0.0
    assert tier.store(image) / image.buffer.numel() == pytest.approx(ratio + scales, rel=0.01)
    for key, tensor in image.tensors().items():
        error = (restored.tensors()[key].float() - tensor.float()).abs()
        if encoding == "int8":
            step = tensor.float().abs().amax(-1, keepdim=True) / 127
            assert (error <= 0.51 * step + 0.01 * tensor.float().abs()).all()
        else:
            assert (error <= tensor.float().abs() / 14 + tensor.float().abs().max() / 448 / 64).all()


def test_recurrent_states_are_not_quantised(model):
    image = state_after(model("tiny-qwen3-next"), 70)
    restored = KvImage(image.layout, round_trip(QuantisedTier(memory(), "int8"), image)).tensors()
    for key, tensor in image.tensors().items():
        same = torch.equal(restored[key], tensor)
        assert same is ("keys" not in key and "values" not in key), key


def test_int8_costs_less_quality_than_fp8_with_one_scale(model):
    loaded = model("tiny-llama")
    exam = examine(loaded, exam_ids(loaded, 0))
    error = {
        encoding: logit_error(
            loaded,
            exam,
            KvImage(exam.image.layout, round_trip(QuantisedTier(memory(), encoding), exam.image)),
        )
        for encoding in ("int8", "fp8")
    }
    assert 0 < error["int8"] < error["fp8"]


def test_a_full_disk_is_a_sentence(model, tmp_path: Path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_module, "write_kv", full)
    tier = DiskTier(tmp_path, fingerprint(model("tiny-llama"), torch.arange(3)), cold=False)
    with pytest.raises(TierFailedError, match="tier disk-warm: the disk is full"):
        tier.store(state_after(model("tiny-llama"), 20))


@needs_redis
def test_redis_gives_back_every_byte_and_keeps_nothing(model, redis_url: str, monkeypatch):
    monkeypatch.setattr("gpu_probe.tiers.redis._CHUNK_BYTES", 10_000)
    image = state_after(model("tiny-llama"), 70)
    client = connect(redis_url)
    tier = RedisTier(client, fingerprint(model("tiny-llama"), torch.arange(70)))
    assert torch.equal(round_trip(tier, image), image.buffer)
    assert client.dbsize() > 2
    assert all(client.ttl(key) > 0 for key in client.scan_iter())
    tier.close()
    assert client.dbsize() == 0
    client.close()


@needs_redis
def test_redis_that_lost_a_value_or_holds_another_prefix_is_noticed(model, redis_url: str):
    image = state_after(model("tiny-llama"), 30)
    client = connect(redis_url)
    tier = RedisTier(client, fingerprint(model("tiny-llama"), torch.arange(30)))
    tier.store(image)
    client.delete(next(key for key in client.scan_iter() if key.endswith(b":0")))
    with pytest.raises(TierFailedError, match="no longer has what was stored"):
        tier.restore(torch.zeros_like(image.buffer))
    tier.close()
    client.close()


def test_an_absent_redis_is_a_sentence():
    with pytest.raises(UsageError, match="no Redis server answers there"):
        connect("redis://127.0.0.1:1")
    with pytest.raises(UsageError, match="no Redis server answers there"):
        connect("http://nowhere")
