"""`pcache probe` as typed: what is written, what is shown, which exit code."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpu_probe.models import ModelRequest
from gpu_probe.partial import Partial
from gpu_probe.run import ProbeOptions, run_probe
from gpu_probe.verify import FAULTS
from pcache_cli.app import app
from pcache_cli.reports.probe import show_break_even, show_bytes, show_seconds, verdict
from simulators.calibration import Check
from simulators.latency import BreakEven, load_calibration
from tests.simulators.sample_calibration import sample_calibration


def probe(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["probe", *arguments])


def test_a_run_writes_the_calibration_the_picture_and_the_table(tmp_path: Path):
    shown = probe(
        *("--budget", "60s", "--max-tokens", "256", "--disk", str(tmp_path)),
        *(
            "-o",
            str(tmp_path / "c.json"),
            "--plot",
            str(tmp_path / "p.png"),
            "--cells",
            str(tmp_path / "c.parquet"),
        ),
    )
    assert shown.exit_code == 0, shown.output
    calibration = load_calibration(tmp_path / "c.json")
    assert calibration.model.name == "tiny-llama"
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json", "c.parquet", "p.png"]
    assert "A kept prefix of 192 tokens brings the first token" in shown.stdout
    assert "planted fault" in shown.stdout
    assert "disk-cold" in shown.stdout


def test_json_is_the_calibration_and_nothing_else_on_stdout(tmp_path: Path):
    path = tmp_path / "c.json"
    shown = probe("--budget", "60s", "--max-tokens", "128", "-o", str(path), "--json", "--quiet")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == path.read_text()
    assert json.loads(shown.stdout)["schema_version"] == 1


def test_a_model_restored_wrongly_is_said_first_and_fails(tmp_path: Path):
    shown = probe(
        *("--model", "tiny-jamba", "--budget", "60s", "--max-tokens", "128", "-o", str(tmp_path / "c.json"))
    )
    assert shown.exit_code == 1
    assert shown.stdout.startswith("Restored KV of tiny-jamba is WRONG here")
    assert not load_calibration(tmp_path / "c.json").trusted


def test_a_planted_fault_that_slips_through_fails_the_run(tmp_path: Path, monkeypatch):
    for name in FAULTS:
        monkeypatch.setitem(FAULTS, name, lambda image: image)
    shown = probe("--budget", "60s", "--max-tokens", "128", "-o", str(tmp_path / "c.json"))
    assert shown.exit_code == 1


def test_an_interrupted_run_keeps_what_it_measured(tmp_path: Path, monkeypatch):
    def stopped(options: ProbeOptions, partial: Partial, progress: object) -> None:
        run_probe(options, partial)
        partial.complete = False
        raise KeyboardInterrupt

    monkeypatch.setattr("gpu_probe.run.run_probe", stopped)
    shown = probe("--budget", "60s", "--max-tokens", "128", "-o", str(tmp_path / "c.json"))
    assert shown.exit_code == 130
    assert not load_calibration(tmp_path / "c.json").complete
    assert "what was measured until then is in" in shown.stderr


def test_a_run_stopped_too_early_keeps_its_cells(tmp_path: Path):
    shown = probe("--budget", "0.01s", "-o", str(tmp_path / "c.json"))
    assert shown.exit_code == 3
    assert "is too slow here" in shown.stderr
    kept = json.loads((tmp_path / "c.partial.json").read_text())
    assert kept["format"] == "pcache-partial-probe"
    assert not (tmp_path / "c.json").exists()


def test_the_experiment_reports_both_sides():
    shown = probe("--experiment", "shared-prefix", "--requests", "3", "--prefix", "200", "--suffix", "10")
    assert shown.exit_code == 0, shown.output
    assert "3 requests sharing 200 tokens took" in shown.stdout
    assert "First tokens alike: 3 of 3" in shown.stdout
    shown = probe("--experiment", "shared-prefix", "--requests", "2", "--prefix", "50", "--json")
    assert json.loads(shown.stdout)["requests"] == 2


def test_the_catalogue_is_listed():
    shown = probe("--list-models")
    assert shown.exit_code == 0
    assert "llama-3-8b" in shown.stdout
    assert "deepseek-v3-mini" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "tiny-lama"], "neither a shape"),
        (["--device", "tpu"], "choose auto, cpu or cuda"),
        (["--attention", "magic"], "choose sdpa, eager or causal"),
        (["--experiment", "perpetuum"], "the one there is is shared-prefix"),
        (["--budget", "soon"], "not a duration"),
        (["-o", "/absent/folder/c.json"], "does not exist"),
        (["--redis", "redis://127.0.0.1:1"], "no Redis server answers"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments: list[str], message: str):
    shown = probe(*arguments)
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_without_the_libraries_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else object())
    shown = probe()
    assert shown.exit_code == 2
    assert "pcache probe needs torch; install pcache-cli[probe]" in shown.stderr


def test_the_verdict_says_when_restoring_does_not_pay():
    from dataclasses import replace

    from simulators.calibration import Term

    useless = sample_calibration([Term("new", 1e-9)])
    assert "never beats computing it here up to 8,000 tokens" in verdict(useless)
    assert "(tier pinned," in verdict(sample_calibration())
    wrong = replace(sample_calibration(), checks=[Check("restored equals live", False, 1.0, 0.0)])
    assert "WRONG" in verdict(wrong)
    assert "no tier was" in verdict(replace(sample_calibration(), tiers=[]))


def test_quantities_read_well():
    assert [show_seconds(s) for s in (4.2e-6, 0.0123, 90)] == ["4.2 µs", "12.3 ms", "1.5 min"]
    assert [show_bytes(b) for b in (12, 131072, 5e9)] == ["12 B", "128 KiB", "4.66 GiB"]
    assert show_break_even(BreakEven("disk", None, 4096, "projected")) == "> 4,096 *"
    assert show_break_even(BreakEven("disk", 12, 4096, "measured")) == "12"


def test_options_reach_the_probe(monkeypatch, tmp_path: Path):
    seen = []

    def record(options: ProbeOptions, partial: Partial, progress: object) -> None:
        seen.append(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("gpu_probe.run.run_probe", record)
    probe(
        *("--model", "qwen3-8b", "--device", "cpu", "--dtype", "bfloat16", "--attention", "eager"),
        *("--budget", "5m", "--max-tokens", "4096", "--threads", "2", "--disk", str(tmp_path), "--seed", "7"),
    )
    assert seen == [
        ProbeOptions(ModelRequest("qwen3-8b", "cpu", "bfloat16", "eager", 7), 300.0, 4096, 2, None, tmp_path)
    ]
