"""The schema's defaults, applied as the API server applies them, so that offline and stored objects are alike."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from inferenceversion_operator.api.crds import structural_schema


def with_defaults(kind: str, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the object in which every unset field with a default has it."""
    copy: dict[str, Any] = deepcopy(dict(obj))
    _fill(copy, structural_schema(kind))
    return copy


def spec_with_defaults(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the spec alone with its defaults."""
    filled: dict[str, Any] = with_defaults(kind, {"spec": spec})["spec"]
    return filled


def _fill(value: Any, schema: Mapping[str, Any]) -> None:
    if isinstance(value, list):
        for item in value:
            _fill(item, schema.get("items", {}))
    if not isinstance(value, dict):
        return
    # An explicit null is no value: no field of ours is nullable. It is pruned, then defaulted.
    for name in [name for name, child in value.items() if child is None]:
        del value[name]
    for name, child in schema.get("properties", {}).items():
        if name not in value and "default" in child:
            value[name] = deepcopy(child["default"])
        if name in value:
            _fill(value[name], child)
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        for child in value.values():
            _fill(child, values)
