"""Write docs/schemas/*.schema.json of the commands that print reports from the classes: `python docs/report_schemas.py`.

Commands: analyze, simulate, cost, validate, explain, diff, rule, key. Each file is the schema of what the command prints with --json. Parts that are described elsewhere (tables that depend on
the question asked) are left open; what scripts rely on is spelled out.
"""

import json
from collections.abc import Sequence
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
    command: str,
    properties: dict[str, Any],
    required: list[str],
    definitions: dict[str, Any],
    one_of: Sequence[dict[str, Any]] = (),
) -> str:
    """The schema as text. `one_of` are the forms of a document that has several."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"pcache {command} --json",
        "type": "object",
        "properties": {"schema_version": {"const": 1}, "command": {"const": command}, **properties},
        "required": ["schema_version", "command", *required],
        **({"oneOf": list(one_of)} if one_of else {}),
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


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _explain_and_diff() -> dict[str, str]:
    """A diff is of two logs, or of two requests and then tells what `explain` tells."""
    from analyzers.explanation import Explanation
    from analyzers.log_difference import LogDifference

    parts, definitions = _components({"explanation": Explanation})
    explained = _document("explain", {**parts, "tokens": _TEXT}, ["explanation", "tokens"], definitions)
    parts, definitions = _components({"difference": LogDifference, "explanation": Explanation})
    logs = {"before": _TEXT, "after": _TEXT, "difference": parts["difference"]}
    requests = {"explanation": parts["explanation"]}
    compared = _document(
        "diff",
        {**logs, **requests},
        [],
        definitions,
        [{"required": list(logs)}, {"required": list(requests)}],
    )
    return {"explain.schema.json": explained, "diff.schema.json": compared}


def _rule() -> str:
    from analyzers.findings import Level

    parts, definitions = _components({"level": Level})
    fields = dict.fromkeys(("id", "name", "family"), _TEXT)
    rule = _object({**fields, "level": parts["level"], "title": _TEXT, "documentation": _TEXT})
    return _document("rule", {"rules": {"type": "array", "items": rule}}, ["rules"], definitions)


def _key() -> str:
    """One manifest gives its key at the top, two give the verdict, every difference and both keys."""
    from analyzers.serving_key import Difference, Verdict
    from analyzers.serving_key_fields import Reason

    parts, definitions = _components(
        {"verdict": Verdict, "differences": list[Difference], "reason": Reason, "may_share": bool | None}
    )
    reason = parts.pop("reason")
    named = {"field": _TEXT, "reason": reason, "why": _TEXT}
    own = {
        "key": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"},
        "takes_part": {"type": "array", "items": _object(named)},
        "need_not": {"type": "array", "items": _object({"field": _TEXT, "why": _TEXT})},
        "missing": {"type": "array", "items": _object(named)},
        "unjudged": {"type": "array", "items": _TEXT},
    }
    two = {**parts, "key": _object(own), "other": _object(own)}
    return _document("key", {}, [], definitions, [_object(own), _object(two)])


_TEXT = {"type": "string"}


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
    return {**result, **_explain_and_diff(), "rule.schema.json": _rule(), "key.schema.json": _key()}


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
