"""What is named on the command line and is not there is refused before a log is read or a file is changed."""

import os
import subprocess
from pathlib import Path

import pytest

from analyzers.errors import UsageError
from pcache_cli.targets import check_target
from simulators.latency import dump_calibration
from tests.command_line import pcache
from tests.simulators.sample_calibration import sample_calibration

WINDOWS = b"Be brief.\r\nBe kind.\n{{ question }}\n"
POINT = ["--block-size", "16", "--capacity", "none"]
KV = ["--kv-bytes-per-token", "100"]
LOG = Path(__file__).resolve().parents[2] / "sample_logs" / "coding_agent_markers.jsonl"


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a log fails the test."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the log was read")

    monkeypatch.setattr("analyzers.logs.read_log", never)


@pytest.mark.parametrize("command", ["analyze", "cost", "report", "validate", "simulate"])
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tokenizer", "no-such"], "No tokenizer 'no-such'"),
        (["--chat-template", "absent.jinja"], "No chat template at absent.jinja"),
        (["--since", "yesterday"], "'yesterday' is no time"),
        (["--until", "2999-01-01"], "'2999-01-01' is out of range; times from 1823-11-13 to 2116-02-20"),
    ],
)
def test_how_to_read_is_checked_first(command: str, words: list[str], says: str):
    _refused([command, str(LOG), *words], says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["analyze", "LOG", "-o", "table.txt"], "must end in .csv or .parquet"),
        (["analyze", "LOG", "-o", "absent/table.csv"], "the folder absent does not exist"),
        (["analyze", "LOG", "--plot", "plot.svg"], "must end in .png"),
        (["analyze", "LOG", "--plot", "absent/plot.png"], "the folder absent does not exist"),
        (["cost", "LOG", "-o", "bill.xlsx"], "must end in .csv or .parquet"),
        (["cost", "LOG", "--rules", "absent.yaml"], "absent.yaml"),
        (["cost", "LOG", "--prices", "absent.yaml"], "absent.yaml"),
        (["cost", "LOG", "--assume-model", "gpt-4.l"], "near it are gpt-4"),
        (["report", "LOG", "--assume-model", "gpt-4.l"], "near it are gpt-4"),
        (["diff", "LOG", "absent.jsonl"], "absent.jsonl does not exist"),
        (["cost", "LOG", "--by", "planet"], "--by planet is not a field"),
        (["report", "LOG", "--rules", "absent.yaml"], "absent.yaml"),
        (["report", "LOG", "--prices", "absent.yaml"], "absent.yaml"),
        (["report", "LOG", "-o", "absent/report.html"], "the folder absent does not exist"),
        (["validate", "LOG", "--provider", "nobody"], "no rules for the provider 'nobody'"),
        (["validate", "LOG", "--engine", "nothing"], "'nothing' is no engine"),
        (["validate", "LOG", "--engine", "vllm"], "needs --num-gpu-blocks"),
        (["validate", "LOG", "--engine", "vllm", "-E", "pages=3"], "--pages is an option of no engine"),
        (["validate", "LOG", "--capacity", "1GiB"], "needs the size of a token"),
        (["validate", "LOG", "--capacity", "none", "--ttl", "5m,1h"], "one configuration has one --ttl"),
        (["simulate", "LOG", "-o", "grid.txt"], "must end in .csv or .parquet"),
        (["simulate", "LOG", "--plot", "plot.svg"], "must end in .png"),
        (["simulate", "LOG", "--compare", "absent.json"], "cannot read absent.json"),
        (["simulate", "LOG", "--compare", "LOG"], "is no result of pcache simulate"),
        (["simulate", "LOG", "--capacity", "1GiB"], "needs the size of a token"),
        (
            ["simulate", "LOG", "--model", "no-such-model", "--capacity", "1GiB"],
            "is no model in the catalogue",
        ),
        (["simulate", "LOG", "--kv-dtype", "fp8"], "name it with --model"),
        (["simulate", "LOG", "--model", "llama-3.1-8b", "--kv-dtype", "fp7"], "fp7"),
        (["simulate", "LOG", "--sample", "1"], "--sample 1 is no sample: leave --sample out"),
        (["simulate", "LOG", "--sample", "2"], "a sample of 2 is not possible"),
        (["simulate", "LOG", *POINT, "--calibration", "absent.json"], "cannot read the calibration"),
        (["simulate", "LOG", "--calibration", "CALIBRATION"], "--calibration needs one configuration"),
        (["simulate", "LOG", *POINT, "--sample", "0.1", "--calibration", "CALIBRATION"], "no --sample"),
        (
            ["simulate", "LOG", *POINT, "--calibration", "CALIBRATION", "--restore-tier", "moon"],
            "has no tier 'moon'",
        ),
        (["simulate", "LOG", "--provider", "nobody"], "no rules for the provider 'nobody'"),
        (["simulate", "LOG", "--provider", "auto", "--rules", "absent.yaml"], "absent.yaml"),
        (["simulate", "LOG", "--provider", "auto", "--prices", "absent.yaml"], "absent.yaml"),
        (["simulate", "LOG", "--provider", "auto", "--what-if", "wish"], "'wish' is no what-if"),
        (["simulate", "LOG", "--engine", "nothing"], "'nothing' is no engine"),
        (["simulate", "LOG", "--engine", "vllm"], "needs --num-gpu-blocks"),
        (["simulate", "LOG", "--engine", "sglang", "-E", "pages=3"], "--pages is an option of no engine"),
        (["simulate", "LOG", "--policy", "nothing"], "'nothing' is not a policy"),
        (["simulate", "LOG", "--policy", "fifo", "--capacity", "1GiB,2GiB", *KV], "has one --capacity"),
        (["simulate", "LOG", "--policy", "fifo", "--ttl", "5m,1h"], "has one --ttl"),
        (["simulate", "LOG", "--ttl", "5m", "--ttl-from", "birth"], "not from 'birth'"),
        (["simulate", "LOG", "--priority", "high"], "'high' is no priority"),
        (["simulate", "LOG", "--tier", "cpu"], "'cpu' is no tier"),
        (["simulate", "LOG", "--tier", "cpu=4096blocks@1GB"], "the bytes per token are unknown"),
        (["simulate", "LOG", "--routing", "luck"], "'luck' is not a routing"),
        (["simulate", "LOG", "--replica-change", "noon"], "'noon' is no coming or going"),
        (["simulate", "LOG", "--visibility", "never"], "'never' is not a visibility"),
        (["simulate", "LOG", "--visibility", "prefill"], "needs a prefill rate"),
        (["simulate", "LOG", "--fail-writes", "2"], "failure share of 2"),
        (["simulate", "LOG", "--invalidations", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_a_name_is_checked_before_the_log_is_read(tmp_path: Path, words: list[str], says: str):
    calibration = tmp_path / "calibration.json"
    calibration.write_bytes(dump_calibration(sample_calibration()))
    files = {"LOG": str(LOG), "CALIBRATION": str(calibration)}
    _refused([files.get(word, word) for word in words], says)


@pytest.mark.parametrize(
    ("command", "option", "ending"),
    [
        ("analyze", "-o", ".csv"),
        ("analyze", "--plot", ".png"),
        ("cost", "-o", ".parquet"),
        ("report", "-o", ".html"),
        ("simulate", "-o", ".csv"),
        ("simulate", "--plot", ".png"),
        ("trace", "-o", ".parquet"),
        ("trace", "-o", ".jsonl"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str, ending: str
):
    monkeypatch.chdir(tmp_path)
    Path("folder" + ending).mkdir()
    Path("file").touch()
    for output, says in (
        ("s3://bucket/out", f"'s3://bucket/out{ending}' is an address; give the path of a local file"),
        ("file:///out", f"'file:///out{ending}' is an address"),
        ("folder", f"'folder{ending}' is a folder; name a file in it"),
        ("absent/out", f"'absent/out{ending}': the folder absent does not exist"),
        ("file/out", f"'file/out{ending}': the folder file is a file"),
    ):
        _refused([command, str(LOG), option, output + ending], says)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder" + ending]


@pytest.mark.parametrize("command", ["analyze", "trace"])
def test_an_output_without_permission_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.chdir(tmp_path)
    Path("locked").mkdir()
    Path("kept.parquet").touch()
    denied = ("locked", "kept.parquet")
    # The user who runs the tests may be one whom no permission binds.
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK or Path(path).name not in denied)
    for output, says in (
        ("locked/out.parquet", "'locked/out.parquet': nothing may be written in the folder locked"),
        ("kept.parquet", "'kept.parquet' is there and may not be written to"),
    ):
        _refused([command, str(LOG), "-o", output], says)


def test_a_file_that_is_there_needs_its_folder_where_others_are_made_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    output = tmp_path / "out.parquet"
    output.touch()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    check_target("--output", output, ".parquet")
    with pytest.raises(UsageError, match="nothing may be written in the folder"):
        check_target("--output", output, ".parquet", beside=True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--changed", "no-such-revision"], "no such revision"),
        (["--lock", "--lock-file", "absent.lock"], "there is no lock file absent.lock"),
        (["--baseline", "absent.json"], "there is no baseline absent.json"),
        (["--logs", "absent.jsonl"], "absent.jsonl"),
        (["--tokenizer", "no-such"], "No tokenizer 'no-such'"),
        (["--requests-per-day", "100"], "--requests-per-day needs --model"),
        (["--requests-per-day", "100", "--model", "nobody-1"], "the price of 'nobody-1' is not known"),
        (["-o", "absent/report.txt"], "the folder absent does not exist"),
        (["--output-format", "xml"], "there is no format 'xml'"),
        (["--select", "PC999"], "PC999"),
    ],
)
def test_the_linter_checks_names_before_it_fixes_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    Path("prompt.j2").write_bytes(WINDOWS)
    _refused(["lint", "--fix", "prompt.j2", *words], says)
    assert Path("prompt.j2").read_bytes() == WINDOWS


def test_the_linter_fixes_that_file_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("prompt.j2").write_bytes(WINDOWS)
    assert pcache("lint", "--fix", "prompt.j2").returncode == 0
    assert Path("prompt.j2").read_bytes() != WINDOWS


def _refused(words: list[str], says: str) -> None:
    done = pcache(*words)
    assert done.returncode in (2, 3), done
    assert says in " ".join(done.stderr.decode().split())
    assert b"the log was read" not in done.stderr
