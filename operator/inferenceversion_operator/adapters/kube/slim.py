"""What the cache keeps of an object. At thousands of versions the rest would be most of the operator's memory.

``_KEPT`` says what is read of each kind; whoever reads more adds it there.
"""

import json
import sys
import zlib
from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]

_METADATA = {
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
}
_OF_OTHERS = _METADATA - {"annotations", "ownerReferences"}
# kubectl's copy of the whole object.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONDITION = {"type": ..., "status": ..., "reason": ..., "message": ...}
_CONTAINER = {"name": ..., "image": ..., "ready": ..., "restartCount": ..., "state": ..., "lastState": ...}
# By kind: the fields that are kept, `...` for a whole one. A kind that is not listed is kept whole.
_KEPT: dict[str, dict[str, Any]] = {
    "Pod": {
        "spec": {"volumes": {"configMap": {"name": ...}}},
        "status": {
            "phase": ...,
            "conditions": _CONDITION,
            "initContainerStatuses": _CONTAINER,
            "containerStatuses": _CONTAINER,
        },
    },
    "EndpointSlice": {"endpoints": {"conditions": {"ready": ...}, "targetRef": {"uid": ...}}},
    "Service": {"spec": ...},
    "PodDisruptionBudget": {"spec": ...},
    "ConfigMap": {"data": ..., "immutable": ...},
    "Deployment": {
        "spec": ...,
        "status": {"replicas": ..., "updatedReplicas": ..., "readyReplicas": ..., "conditions": _CONDITION},
    },
}
_MADE_BY_OTHERS = ("Pod", "EndpointSlice")
# Read once, or when something is not as it was left: stored as compressed JSON.
_PACKED = {"Deployment": ("spec", "template"), "InferenceVersion": ("spec",)}
_SHARED_LENGTH = 64


class Packed:
    """A value that is seldom read, in a tenth of its room."""

    __slots__ = ("_bytes",)

    def __init__(self, value: Any) -> None:
        self._bytes = zlib.compress(json.dumps(value).encode(), 1)

    def unpack(self) -> Any:
        """Return the value."""
        return _shared(json.loads(zlib.decompress(self._bytes)))


def unpacked(value: Any) -> Any:
    """Return a value that may be packed."""
    return value.unpack() if isinstance(value, Packed) else value


def slim(obj: Object, known: Object | None = None) -> Object:
    """Return what is kept of an object.

    Args:
        known: what was kept of the same object before; what can't have changed since is shared with it.
    """
    kind = obj["kind"]
    fields = _OF_OTHERS if kind in _MADE_BY_OTHERS else _METADATA
    meta = {key: value for key, value in obj["metadata"].items() if key in fields}
    if _LAST_APPLIED in (meta.get("annotations") or ()):
        meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != _LAST_APPLIED}
    rest = {key: value for key, value in comparable(obj).items() if key != "metadata"}
    kept = _KEPT.get(kind)
    if kept is not None:
        rest = {"kind": kind, "apiVersion": obj.get("apiVersion"), **_only(rest, kept)}
    path = _PACKED.get(kind)
    if path:
        rest = _packed(rest, path, known if known and _same_spec(known["metadata"], meta) else None)
    thin: Object = _shared({**rest, "metadata": meta})
    return thin


def comparable(obj: Object) -> Object:
    """Return the object without what can't drift: the data of an immutable ConfigMap."""
    if obj["kind"] == "ConfigMap" and obj.get("immutable"):
        return {key: value for key, value in obj.items() if key != "data"}
    return obj


def _same_spec(known: Object, meta: Object) -> bool:
    generation = meta.get("generation")
    return generation is not None and (known.get("uid"), known.get("generation")) == (meta.get("uid"), generation)


def _only(value: Any, kept: Any) -> Any:
    """Return of a tree the fields that are kept; lists are looked through."""
    if isinstance(value, list):
        return [only for item in value if (only := _only(item, kept)) != {}]
    if kept is ... or not isinstance(value, dict):
        return value
    return {key: _only(value[key], inner) for key, inner in kept.items() if key in value}


def _packed(value: Any, path: tuple[str, ...], known: Any) -> Any:
    """Return a tree with the value at a path packed, taken from what is known where that is given."""
    key, *further = path
    if not isinstance(value, dict) or key not in value:
        return value
    before = known.get(key) if isinstance(known, dict) else None
    if further:
        return {**value, key: _packed(value[key], tuple(further), before)}
    return {**value, key: before if isinstance(before, Packed) else Packed(value[key])}


def _shared(value: Any) -> Any:
    """Return a tree whose short strings are one for all trees: names, labels and reasons are the same in most."""
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= _SHARED_LENGTH and type(value) is str else value
    if isinstance(value, dict):
        return {sys.intern(key): _shared(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shared(item) for item in value]
    return value
