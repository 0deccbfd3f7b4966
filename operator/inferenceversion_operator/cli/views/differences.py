"""Two snapshots, field by field."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.defaults import spec_with_defaults
from inferenceversion_operator.api.digest import canonical_snapshot, snapshot_digest

# The order in which parts are shown, and what they are called; any other field of spec stands under its own name.
PARTS = {
    "model": "model",
    "preprocessor": "preprocessor",
    "postprocessor": "postprocessor",
    "runtime.image": "runtime image",
    "runtime": "runtime",
    "triton": "triton",
    "contract": "contract",
    "guardrails": "guardrails",
    "slo": "slo",
    "autoscaling": "autoscaling",
    "traffic": "traffic",
}
_IDENTITY = frozenset({"endpoint", "version"})


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    endpoint: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Change:
    field: str  # path below spec
    a: Any  # None: unset
    b: Any
    counts: bool  # for the digest


@dataclass(frozen=True, slots=True)
class PartChanges:
    part: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    a: Side
    b: Side
    same_digest: bool
    parts: tuple[PartChanges, ...]


def compare(a: Mapping[str, Any], b: Mapping[str, Any]) -> Differences:
    """Compare two InferenceVersions; fields that are spelled differently and mean the same are no difference."""
    sides = _side(a), _side(b)
    by_part: dict[str, list[Change]] = {}
    for change in _changes(a["spec"], b["spec"]):
        by_part.setdefault(_part_of(change.field), []).append(change)
    order = [*PARTS.values(), *sorted(by_part.keys() - set(PARTS.values()))]
    parts = tuple(PartChanges(part, tuple(by_part[part])) for part in order if part in by_part)
    return Differences(*sides, same_digest=sides[0].digest == sides[1].digest, parts=parts)


def _side(obj: Mapping[str, Any]) -> Side:
    spec = obj["spec"]
    return Side(obj["metadata"]["name"], spec["endpoint"], spec["version"], snapshot_digest(spec))


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change]:
    written = _written(a), _written(b)
    hashed = _hashed(a), _hashed(b)
    for path in sorted({*written[0], *written[1], *hashed[0], *hashed[1]}):
        counts = path in hashed[0] or path in hashed[1]
        one, other = hashed if counts else written
        if path not in _IDENTITY and one.get(path) != other.get(path) and not _order_follows(path, one, other):
            # The value as it is written says more than its one spelling in the hash.
            yield Change(path, written[0].get(path, one.get(path)), written[1].get(path, other.get(path)), counts)


def _order_follows(path: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether another order is only what comes with another member, which is a change of its own."""
    return path.endswith("[]") and sorted(one.get(path, ())) != sorted(other.get(path, ()))


def changes_of(kind: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what differs between two specs of one object; what is spelled differently and means the same is nothing."""
    if kind == "InferenceVersion":
        yield from _changes(a, b)
        return
    one, other = (dict(leaves(spec_with_defaults(kind, spec), "")) for spec in (a, b))
    for path in sorted({*one, *other}):
        if one.get(path) != other.get(path):
            yield Change(path, one.get(path), other.get(path), counts=False)


def _written(spec: Mapping[str, Any]) -> dict[str, Any]:
    return dict(leaves(spec_with_defaults("InferenceVersion", spec), ""))


def _hashed(spec: Mapping[str, Any]) -> dict[str, Any]:
    return dict(leaves(json.loads(canonical_snapshot(spec)), ""))


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of everything that is set; items that have a name are found by it, not by their place."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from leaves(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        named = all("name" in item for item in value)
        if named:
            yield f"{path}[]", [item["name"] for item in value]
        for index, item in enumerate(value):
            rest = {key: child for key, child in item.items() if not (named and key == "name")}
            yield from leaves(rest, f"{path}[{item['name'] if named else index}]")
    else:
        yield path, value


def _part_of(path: str) -> str:
    top = path.partition(".")[0].partition("[")[0]
    return PARTS.get(path) or PARTS.get(top) or top
