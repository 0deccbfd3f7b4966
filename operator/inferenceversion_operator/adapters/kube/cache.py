"""What the watches have told so far, indexed by endpoint; the only place that observe reads."""

from collections.abc import Callable
from typing import Any

from inferenceversion_operator.adapters.kube.slim import Object, slim
from inferenceversion_operator.api.labels import LABEL_ENDPOINT

Key = tuple[str, str]  # namespace and endpoint
_Id = tuple[str, str, str]  # kind, namespace, name
_DECLARED = ("InferenceVersion", "InferenceEndpoint")
_DELETED_LIMIT = 10_000


def endpoint_key(obj: Object) -> Key | None:
    """Return the endpoint that an object belongs to: itself, by its spec or by its label."""
    meta = obj["metadata"]
    if obj["kind"] == "InferenceEndpoint":
        return meta["namespace"], meta["name"]
    if obj["kind"] == "InferenceVersion":
        endpoint = obj.get("spec", {}).get("endpoint")
    else:
        endpoint = (meta.get("labels") or {}).get(LABEL_ENDPOINT)
    return (meta["namespace"], str(endpoint)) if endpoint else None


class Cache:
    """Objects by kind and name, and by endpoint. Not thread-safe: one event loop.

    Args:
        on_change: called after each change with the endpoint's key, and whether somebody asked for it: a declared
            object came, went or was edited. Its status, which is ours, and its children are news that nobody waits for.
    """

    def __init__(self, on_change: Callable[[Key, bool], None]) -> None:
        self._on_change = on_change
        self._objects: dict[_Id, Object] = {}
        self._key_of: dict[_Id, Key] = {}
        self._by_endpoint: dict[Key, dict[_Id, Object]] = {}
        # The last uids and the version they left with: a list or an answer that was on its way brings none back, while
        # an object that only lost our label may return.
        self._deleted: dict[str, int] = {}

    def put(self, obj: Object) -> None:
        """Remember an object, unless what is known is newer (our own write may arrive before the watch does)."""
        ident = _id(obj)
        known = self._objects.get(ident)
        if _version(obj) <= self._deleted.get(_uid(obj), -1):
            return
        if known is not None and _version(known) >= _version(obj) and _uid(known) == _uid(obj):
            return
        before = self._forget(ident) if known is not None else None
        self._objects[ident] = thin = slim(obj, known)
        key = endpoint_key(obj)
        asked = ident[0] in _DECLARED and (known is None or _asks(known) != _asks(thin))
        if before and before != key:  # a label was edited: the endpoint that lost the object wants it back
            self._on_change(before, asked)
        if key:
            self._key_of[ident] = key
            self._by_endpoint.setdefault(key, {})[ident] = thin
            self._on_change(key, asked)

    def remove(self, obj: Object) -> None:
        """Forget an object that was deleted; a newer one of the same name stays."""
        ident = _id(obj)
        known = self._objects.get(ident)
        if len(self._deleted) >= _DELETED_LIMIT:
            self._deleted.pop(next(iter(self._deleted)))
        self._deleted[_uid(obj)] = _version(obj)
        if known is None or _uid(known) != _uid(obj):
            return
        key = self._forget(ident)
        if key:
            self._on_change(key, ident[0] in _DECLARED)

    def keep(self, kind: str, names: set[tuple[str, str]], as_of: str, namespace: str | None = None) -> None:
        """Forget the objects of a kind that a list did not hold: they were deleted while nobody watched.

        Args:
            names: namespaces and names of what the list held.
            as_of: resource version of the list; what is newer was made after it and stays.
            namespace: the one that was listed; None: all of them.
        """
        gone = [
            ident
            for ident, known in self._objects.items()
            if ident[0] == kind
            and namespace in (None, ident[1])
            and ident[1:] not in names
            and _version(known) <= _number(as_of)
        ]
        for ident in gone:
            key = self._forget(ident)
            if key:
                self._on_change(key, kind in _DECLARED)

    def of_endpoint(self, key: Key) -> tuple[Object, ...]:
        """Return every object of an endpoint."""
        return tuple(self._by_endpoint.get(key, {}).values())

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return one object."""
        return self._objects.get((kind, namespace, name))

    def endpoints(self) -> tuple[Key, ...]:
        """Return the keys of all endpoints that anything is known of."""
        return tuple(self._by_endpoint)

    def _forget(self, ident: _Id) -> Key | None:
        self._objects.pop(ident)
        key = self._key_of.pop(ident, None)
        if key:
            mine = self._by_endpoint.get(key, {})
            mine.pop(ident, None)
            if not mine:
                self._by_endpoint.pop(key, None)
        return key


def _id(obj: Object) -> _Id:
    meta = obj["metadata"]
    return str(obj["kind"]), str(meta["namespace"]), str(meta["name"])


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid", ""))


def _version(obj: Object) -> int:
    # Resource versions of one resource are ordered integers (KEP-5504, promised since Kubernetes 1.35, true before).
    return _number(str(obj["metadata"].get("resourceVersion", "0")))


def _asks(obj: Object) -> tuple[Any, ...]:
    """Return what changes when somebody edits a declared object, and not with its status."""
    meta = obj["metadata"]
    return tuple(meta.get(field) for field in ("uid", "generation", "deletionTimestamp", "labels", "annotations"))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
