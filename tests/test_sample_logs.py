"""The sample logs are what their script makes."""

from pathlib import Path

import pytest

from sample_logs import make_samples


def test_the_samples_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {path.name: path.read_bytes() for path in make_samples.FOLDER.glob("*.jsonl")}
    monkeypatch.setattr(make_samples, "FOLDER", tmp_path)
    make_samples.main()
    assert {path.name for path in tmp_path.iterdir()} == set(kept)
    for name, content in kept.items():
        assert (tmp_path / name).read_bytes() == content, f"run python -m sample_logs.make_samples ({name})"
