"""The folder of a run: pieces stay for the same run, go for any other, and nobody else's files are touched."""

from contextlib import suppress
from pathlib import Path

import pytest

from analyzers.errors import InputError, UsageError
from analyzers.shards.work_folder import WorkFolder, work_folder


def begun(path: Path, fingerprint: str) -> None:
    """A run that is stopped after it has finished shard 0."""
    with suppress(KeyboardInterrupt), work_folder(path, fingerprint) as work:
        work.finish(0)
        raise KeyboardInterrupt


def test_a_run_that_was_stopped_finds_what_it_had_finished(tmp_path: Path) -> None:
    begun(tmp_path / "parts", "a")
    with work_folder(tmp_path / "parts", "a") as work:
        assert work.is_finished(0)
        assert not work.is_finished(1)


def test_another_run_finds_nothing(tmp_path: Path) -> None:
    begun(tmp_path / "parts", "a")
    with work_folder(tmp_path / "parts", "b") as work:
        assert not work.is_finished(0)


def test_the_folder_is_gone_when_the_work_is_done_or_left_nothing(tmp_path: Path) -> None:
    with work_folder(tmp_path / "parts", "a") as work:
        work.finish(0)
    assert not (tmp_path / "parts").exists()
    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path / "parts", "a"):
        raise KeyboardInterrupt
    assert not (tmp_path / "parts").exists()


def test_a_folder_that_holds_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"precious\.txt"), work_folder(tmp_path, "a"):
        pass
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        work_folder(tmp_path / "parts", "a"),
        pytest.raises(UsageError, match="another run"),
        work_folder(tmp_path / "parts", "a"),
    ):
        pass


def test_a_place_where_no_folder_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot work in"), work_folder(tmp_path / "file" / "parts", "a"):
        pass


def test_pieces_count_up_to_the_first_that_is_missing(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path)
    (tmp_path / "shard-000002").mkdir()
    for number in (0, 1, 3):
        (tmp_path / "shard-000002" / f"piece-{number:06}").touch()
    assert work.has_pieces(2) == 2
    work.forget(2)
    assert work.has_pieces(2) == 0
