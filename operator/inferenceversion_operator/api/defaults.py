"""The schema's defaults, applied as the API server applies them, so that offline and stored objects are alike."""

from collections.abc import Mapping
from typing import Any

from inferenceversion_operator.api.crds import structural_schema

_NO_SCHEMA: Mapping[str, Any] = {}


def with_defaults(kind: str, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the object in which every unset field with a default has it."""
    filled: dict[str, Any] = _filled(dict(obj), structural_schema(kind))
    return filled


def spec_with_defaults(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the spec alone with its defaults."""
    filled: dict[str, Any] = _filled(dict(spec), structural_schema(kind)["properties"]["spec"])
    return filled


def _filled(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        items = schema.get("items", _NO_SCHEMA)
        return [_filled(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    known = schema.get("properties", _NO_SCHEMA)
    others = schema.get("additionalProperties", _NO_SCHEMA)
    # An explicit null is no value: no field of ours is nullable. It is pruned, then defaulted.
    filled = {name: _filled(child, known.get(name, others)) for name, child in value.items() if child is not None}
    for name, child in known.items():
        if "default" in child and name not in filled:
            filled[name] = _filled(child["default"], child)
    return filled
