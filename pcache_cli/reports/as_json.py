"""Results as plain JSON values: dataclasses become objects with their fields in order."""

from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

SCHEMA_VERSION = 1


def plain_value(value: Any) -> Any:
    """A result as what JSON can hold. Decimals become strings, so that no digit is lost; floats stay exact."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "tolist"):  # a numpy array or scalar
        return value.tolist()
    return value


def document(command: str, **parts: Any) -> dict[str, Any]:
    """One JSON document: schema version, the command, then the parts in the order given."""
    return {"schema_version": SCHEMA_VERSION, "command": command, **plain_value(parts)}
