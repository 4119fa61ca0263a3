"""The JSON that commands print is what the schemas in the docs say, and the schemas are current."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.command_line import pcache

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import report_schemas  # noqa: E402

SAMPLES = ROOT / "sample_logs"
COMMANDS = [
    ("analyze", ["analyze", SAMPLES / "support_bot_clock.jsonl"]),
    ("analyze", ["analyze", SAMPLES / "hash_trace.jsonl"]),
    ("simulate", ["simulate", SAMPLES / "hash_trace.jsonl", "--block-size", "512"]),
    ("simulate", ["simulate", SAMPLES / "healthy_agent.jsonl", "--provider", "auto"]),
    ("cost", ["cost", SAMPLES / "coding_agent_markers.jsonl"]),
    ("validate", ["validate", SAMPLES / "coding_agent_markers.jsonl"]),
]


@pytest.mark.parametrize(("name", "text"), report_schemas.schemas().items())
def test_a_schema_is_current(name: str, text: str) -> None:
    assert (ROOT / "docs" / "schemas" / name).read_text(encoding="utf-8") == text, (
        "run python docs/report_schemas.py"
    )


@pytest.mark.parametrize(("command", "words"), COMMANDS, ids=[str(i) for i in range(len(COMMANDS))])
def test_what_a_command_prints_fits_its_schema(command: str, words: list[str | Path]) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / f"{command}.schema.json").read_text(encoding="utf-8"))
    run = pcache(*words, "--json", "--quiet")
    assert run.returncode == 0, run.stderr
    jsonschema.validate(json.loads(run.stdout), schema)


def test_a_document_without_what_scripts_rely_on_is_refused() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "analyze.schema.json").read_text(encoding="utf-8"))
    document = json.loads(pcache("analyze", SAMPLES / "healthy_agent.jsonl", "--json", "--quiet").stdout)
    del document["reusable_token_ratio"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
