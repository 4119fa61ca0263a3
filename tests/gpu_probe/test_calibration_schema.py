"""The published schema is that of the document, and the document obeys it."""

import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest

from simulators.latency import dump_calibration
from tests.simulators.sample_calibration import sample_calibration

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "schemas" / "calibration.schema.json").read_text(encoding="utf-8"))


def test_the_published_schema_is_current():
    spec = importlib.util.spec_from_file_location("calibration_schema", DOCS / "calibration_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert json.loads(module.schema_text()) == SCHEMA, "run python docs/calibration_schema.py"


def test_a_calibration_obeys_the_schema_and_a_damaged_one_does_not():
    document = json.loads(dump_calibration(sample_calibration()))
    jsonschema.validate(document, SCHEMA)
    del document["prefill"]["floor_s"]
    with pytest.raises(jsonschema.ValidationError, match="floor_s"):
        jsonschema.validate(document, SCHEMA)


@pytest.mark.parametrize(
    "path", sorted((DOCS.parent / "benchmarks" / "calibrations").glob("*.json")), ids=lambda path: path.stem
)
def test_the_calibrations_kept_here_obey_it(path: Path):
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMA)
