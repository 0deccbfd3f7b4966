"""What becomes of the children: two decisions compared, object by object, field by field."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inferenceversion_operator.core.plan import Plan

Object = Mapping[str, Any]
_LONG = 100  # of a value that is shown


class Fate(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of a child; a value that is long is cut. None: unset."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ObjectChange:
    fate: Fate
    kind: str
    name: str
    fields: tuple[FieldChange, ...] = ()


def changed_objects(before: Plan, after: Plan, live: Iterable[Object]) -> tuple[ObjectChange, ...]:
    """Return what the second decision does to the children and the first does not.

    Args:
        live: the children that there are.
    """
    there = {_key(obj) for obj in live}
    old = {_key(obj): obj for obj in _wanted(before)}
    found = []
    for obj in _wanted(after):
        key = _key(obj)
        if key not in there and key not in old:
            found.append(ObjectChange(Fate.CREATED, *key))
        elif fields := tuple(_fields(old.get(key, {}), obj)):
            found.append(ObjectChange(Fate.CHANGED, *key, fields if key in old else ()))
    gone = {(ref.kind, ref.name) for ref in after.prune} - {(ref.kind, ref.name) for ref in before.prune}
    return (*found, *(ObjectChange(Fate.DELETED, *key) for key in sorted(gone)))


def _wanted(plan: Plan) -> Iterator[Object]:
    for obj in (*plan.capacity, *plan.traffic, *plan.release):
        if obj["kind"] != "InferenceEndpoint":
            yield obj


def _key(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _fields(before: Object, after: Object) -> Iterator[FieldChange]:
    for path, old, new in _differences(_compared(before), _compared(after), ""):
        yield FieldChange(path, _shown(old), _shown(new))


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield where two values differ; what one of them has not at all is told once, not field by field."""
    one, other = _inside(old), _inside(new)
    if one is None or other is None or type(old) is not type(new):
        if old != new:
            yield path, old, new
        return
    for key in (*one, *(key for key in other if key not in one)):
        yield from _differences(one.get(key), other.get(key), f"{path}{key}".removeprefix("."))


def _inside(value: Any) -> dict[str, Any] | None:
    """Return what is in a value, by how its path goes on; items that have a name are found by it. None: nothing is."""
    if isinstance(value, Mapping):
        return {f".{key}": child for key, child in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        names = [item.get("name") for item in value]
        unique = None not in names and len(set(names)) == len(names)
        return {f"[{name if unique else place}]": v for place, (name, v) in enumerate(zip(names, value, strict=True))}
    return None


def _compared(obj: Object) -> dict[str, Any]:
    """Return the object without its owner: one that is not stored yet has no uid."""
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "ownerReferences"}
    return {**obj, "metadata": metadata}


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
