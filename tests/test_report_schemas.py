"""The JSON that commands print is what the schemas in the docs say, and the schemas are current."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.analyzers.test_serving_key import WHOLE
from tests.command_line import pcache

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import report_schemas  # noqa: E402

SAMPLES = ROOT / "sample_logs"
CLOCK = SAMPLES / "support_bot_clock.jsonl"
COMMANDS = [
    ("analyze", ["analyze", SAMPLES / "support_bot_clock.jsonl"]),
    ("analyze", ["analyze", SAMPLES / "hash_trace.jsonl"]),
    ("simulate", ["simulate", SAMPLES / "hash_trace.jsonl", "--block-size", "512"]),
    ("simulate", ["simulate", SAMPLES / "healthy_agent.jsonl", "--provider", "auto"]),
    ("cost", ["cost", SAMPLES / "coding_agent_markers.jsonl"]),
    ("validate", ["validate", SAMPLES / "coding_agent_markers.jsonl"]),
    ("explain", ["explain", CLOCK, "--request", "req-0004"]),
    ("explain", ["explain", CLOCK, "--request", "req-0001"]),
    ("explain", ["explain", CLOCK, "--request", "req-0004", "--show-text"]),
    ("diff", ["diff", CLOCK, SAMPLES / "rag_shuffled.jsonl"]),
    ("rule", ["rule"]),
    ("rule", ["rule", "PC101"]),
]


@pytest.mark.parametrize(("name", "text"), report_schemas.schemas().items())
def test_a_schema_is_current(name: str, text: str) -> None:
    assert (ROOT / "docs" / "schemas" / name).read_text(encoding="utf-8") == text, (
        "run python docs/report_schemas.py"
    )


@pytest.mark.parametrize(("command", "words"), COMMANDS, ids=[str(i) for i in range(len(COMMANDS))])
def test_what_a_command_prints_fits_its_schema(command: str, words: list[str | Path]) -> None:
    assert _fits(command, *words) == 0


@pytest.mark.parametrize("show", [[], ["--show-text"]])
def test_two_requests_compared_fit_the_schema_of_diff(tmp_path: Path, show: list[str]) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, line in zip(files, CLOCK.read_text(encoding="utf-8").splitlines(), strict=False):
        file.write_text(line + "\n", encoding="utf-8")
    assert _fits("diff", "diff", *files, *show) == 0


def test_keys_and_their_comparisons_fit_the_schema_of_key(tmp_path: Path) -> None:
    whole, other, open_, lacking = (tmp_path / f"{name}.json" for name in ("a", "b", "c", "d"))
    whole.write_text(json.dumps(WHOLE))
    other.write_text(json.dumps(WHOLE | {"tenant": "oakdale"}))
    open_.write_text(json.dumps(WHOLE | {"steering": "calm"}))
    lacking.write_text('{"tenant": "oakdale"}')
    assert _fits("key", "key", whole) == 0
    assert _fits("key", "key", lacking) == 1
    assert _fits("key", "key", open_) == 0
    assert _fits("key", "key", whole, whole) == 0
    assert _fits("key", "key", whole, other) == 1
    assert _fits("key", "key", whole, open_) == 3
    assert _fits("key", "key", whole, lacking) in (1, 3)


def _fits(command: str, *words: str | Path) -> int:
    """The exit code of a run whose document fits the schema of the command."""
    schema = json.loads((ROOT / "docs" / "schemas" / f"{command}.schema.json").read_text(encoding="utf-8"))
    run = pcache(*words, "--json", "--quiet")
    jsonschema.validate(json.loads(run.stdout), schema)
    return run.returncode


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (["explain", CLOCK, "--request", "req-0004"], ["explanation", "ladder"]),
        (["diff", CLOCK, CLOCK], ["difference", "regression"]),
        (["rule", "PC101"], ["rules", 0, "documentation"]),
    ],
)
def test_a_report_without_one_of_its_fields_is_refused(
    words: list[str | Path], lost: list[str | int]
) -> None:
    command = str(words[0])
    schema = json.loads((ROOT / "docs" / "schemas" / f"{command}.schema.json").read_text(encoding="utf-8"))
    document = json.loads(pcache(*words, "--json", "--quiet").stdout)
    inner = document
    for step in lost[:-1]:
        inner = inner[step]
    del inner[lost[-1]]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_a_document_without_what_scripts_rely_on_is_refused() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "analyze.schema.json").read_text(encoding="utf-8"))
    document = json.loads(pcache("analyze", SAMPLES / "healthy_agent.jsonl", "--json", "--quiet").stdout)
    del document["reusable_token_ratio"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
