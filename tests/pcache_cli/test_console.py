"""Text from logs is data: nothing in it acts on a terminal."""

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from pcache_cli import console


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("[bold]loud[/bold]", "[bold]loud[/bold]"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("\u202eevil", "\\u202eevil"),
        ("grün 漢字", "grün 漢字"),
    ],
)
def test_control_characters_and_markup_are_shown_not_obeyed(text: str, shown: str) -> None:
    out = io.StringIO()
    Console(file=out, force_terminal=False, highlight=False).print(console.plain(text))
    assert out.getvalue() == shown + "\n"


def test_a_number_that_is_not_finite_is_no_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        console.print_json({"x": float("nan")})


def test_json_keeps_the_order_of_keys(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"b": 1, "a": "ü"})
    assert capsys.readouterr().out == '{\n  "b": 1,\n  "a": "ü"\n}\n'


def test_names_in_notes_and_errors_are_shown_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    console.settings.quiet = False
    console.note("wrote \x1b[2Jfile\nnext line")
    console.error("cannot read \x1b]0;title\x07")
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "\\x1b[2Jfile\nnext line" in shown


def test_a_reader_that_goes_away_is_no_failed_gate() -> None:
    """As in `pcache analyze log | head -1`: exit code 1 would read as a gate that failed."""
    root = Path(__file__).resolve().parents[2]
    reads, writes = os.pipe()
    os.close(reads)
    words = ["-m", "pcache_cli", "analyze", "sample_logs/hash_trace.jsonl", "--quiet"]
    run = subprocess.run(
        [sys.executable, *words], cwd=root, stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert (run.returncode, run.stderr) == (0, b"")


def test_kernels_that_can_be_kept_nowhere_are_announced_with_a_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unkept = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr("analyzers.kernels.build_tree", unkept)
    monkeypatch.setattr(console, "settings", console.OutputSettings(color=False))
    console.announce_compilation()
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err
