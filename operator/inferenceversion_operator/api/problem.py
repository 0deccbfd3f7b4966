"""What is wrong with an object, and where."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    field: str  # path such as spec.contract.inputs[0].name; empty: the object itself
    message: str  # what is wrong and what to do

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def below(path: str, name: str) -> str:
    """Return the path of a field of the object at ``path``."""
    return f"{path}.{name}" if path else name


def path_of(steps: Iterable[str | int], schema: Mapping[str, Any]) -> str:
    """Return the path the steps lead to, keys of maps and indices in brackets as the API server writes them."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path, schema = f"{path}[{step}]", schema.get("items", {})
        elif step in schema.get("properties", {}):
            path, schema = below(path, step), schema["properties"][step]
        else:
            path, schema = f"{path}[{step}]", schema.get("additionalProperties", {})
    return path
