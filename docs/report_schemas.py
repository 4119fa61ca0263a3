"""Write docs/schemas/{analyze,simulate,cost,validate}.schema.json from the classes: `python docs/report_schemas.py`.

Each is the schema of what the command prints with --json. Parts that are described elsewhere (tables that depend on
the question asked) are left open; what scripts rely on is spelled out.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent / "schemas"


def _components(types: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Schemas of the types by property name, and the definitions they point to."""
    schemas, definitions = msgspec.json.schema_components(list(types.values()), ref_template="#/$defs/{name}")
    for definition in definitions.values():
        if "properties" in definition:
            definition["required"] = list(definition["properties"])
    return dict(zip(types, schemas, strict=True)), definitions


def _document(
    command: str, properties: dict[str, Any], required: list[str], definitions: dict[str, Any]
) -> str:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"pcache {command} --json",
        "type": "object",
        "properties": {"schema_version": {"const": 1}, "command": {"const": command}, **properties},
        "required": ["schema_version", "command", *required],
        "$defs": definitions,
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _study_parts(definitions: dict[str, Any]) -> dict[str, Any]:
    """What is there with --breakers (the default) and with --markers; adds to the definitions."""
    from analyzers.isolation import Crossing, NamespaceChoice
    from simulators.marker_placement import Placement

    parts, more = _components(
        {
            "namespace_choices": list[NamespaceChoice],
            "boundary_crossings": list[Crossing],
            "markers": Placement,
        }
    )
    definitions.update(more)
    tokens = {"type": ["integer", "null"]}
    gains = {"gain_tokens": tokens, "marginal_gain_tokens": tokens, "proven": {"type": "boolean"}}
    breaker = {"rule": {"type": "string"}, "message": {"type": "string"}, "tokens_lost": tokens, **gains}
    together = ("gain_tokens", "reusable_tokens_after", "prompt_tokens_after")
    return {
        "breakers": {
            "type": "array",
            "items": {"type": "object", "properties": breaker, "required": list(breaker)},
        },
        "fixes_together": {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in together},
            "required": list(together),
        },
        "layouts": {"type": "array", "items": {"type": "object"}},
        **parts,
    }


def schemas() -> dict[str, str]:
    """The text of each schema file by its name."""
    from analyzers.reuse import Reuse
    from analyzers.trace import TraceInfo
    from pcache_cli.reports.analyze import InputAccount
    from pcache_cli.reports.figures import Figures
    from simulators.cost_overview import CostOverview
    from simulators.sampling import SampleAccount
    from simulators.validation import Validation

    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    parts, definitions = _components({"reuse": Reuse, "input": InputAccount | None, "trace": TraceInfo})
    reuse = definitions.pop("Reuse")
    analyze = {**reuse["properties"], "input": parts["input"], "trace": parts["trace"], "definitions": texts}
    result = {
        "analyze.schema.json": _document(
            "analyze", {**analyze, **_study_parts(definitions)}, list(analyze), definitions
        ),
    }
    parts, definitions = _components({"figures": Figures, "trace": TraceInfo, "sample": SampleAccount | None})
    sweep = {"type": "object", "properties": {"sample": parts.pop("sample")}, "required": ["sample"]}
    result["simulate.schema.json"] = _document(
        "simulate",
        {**parts, "sweep": sweep, "definitions": texts},
        ["figures", "trace", "definitions"],
        definitions,
    )
    parts, definitions = _components({"overview": CostOverview, "trace": TraceInfo})
    result["cost.schema.json"] = _document(
        "cost",
        {**parts, "findings": {"type": "array"}, "definitions": texts},
        ["overview", "findings", "trace", "definitions"],
        definitions,
    )
    parts, definitions = _components({"validation": Validation})
    result["validate.schema.json"] = _document(
        "validate", {**parts, "definitions": texts}, ["validation", "definitions"], definitions
    )
    return result


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
