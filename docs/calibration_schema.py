"""Write docs/schemas/calibration.schema.json from the classes it describes: `python docs/calibration_schema.py`."""

import json
from pathlib import Path

import msgspec

from simulators.latency import Calibration

PATH = Path(__file__).parent / "schemas" / "calibration.schema.json"


def schema_text() -> str:
    """The JSON schema of calibration.json."""
    schema = msgspec.json.schema(Calibration)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "calibration of pcache probe"}
    return json.dumps(head | schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(schema_text(), encoding="utf-8")
