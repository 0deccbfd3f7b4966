"""What to write instead of a value of the wrong type: YAML reads more as numbers and truths than people mean."""

import re
from collections.abc import Mapping
from typing import Any

from inferenceversion_operator.api.rules import check_value

_INTEGER = re.compile(r"-?[0-9]+")


def remedy(value: Any, schema: Mapping[str, Any]) -> str:
    """Return how to write a value that is of another type than the field; empty: there is nothing to say.

    Args:
        value: what is there.
        schema: of the field: its ``type`` (a word, or a list of them), its rules and its fields.
    """
    kind = schema["type"]
    wanted = {kind} if isinstance(kind, str) else set(kind)
    if "string" in wanted:
        return _text(value, schema)
    if "integer" in wanted:
        return _whole_number(value)
    if "boolean" in wanted:
        return "write true or false, without quotes"
    if "array" in wanted:
        return "write a list: each item after a -, or all of them in [ ]"
    fields = ", ".join(sorted(schema.get("properties", {})))
    return f"write its fields: {fields}" if fields else "write pairs of a name and a value"


def _text(value: Any, schema: Mapping[str, Any]) -> str:
    if not isinstance(value, (bool, int, float)):
        return ""
    as_text = str(value).lower() if isinstance(value, bool) else str(value)
    broken = check_value(as_text, schema)
    if broken:
        return broken[0].message  # quotes alone would not help
    return "put it in quotes" + (" (YAML reads 12.10 as 12.1)" if isinstance(value, float) else "")


def _whole_number(value: Any) -> str:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return f"write {value} without quotes"
    if isinstance(value, float) and value.is_integer():
        return f"write {value:.0f}"
    return "write a whole number"
