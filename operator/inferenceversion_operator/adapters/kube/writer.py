"""The only file with write verbs. Server-side apply; nothing is sent when nothing would change."""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.client import ApiError, KubeClient
from inferenceversion_operator.adapters.kube.resources import BY_KIND, EVENT
from inferenceversion_operator.adapters.kube.slim import comparable, unpacked
from inferenceversion_operator.api.labels import ANNOTATION_APPLIED, API_VERSION, FIELD_MANAGER, LABEL_MANAGED_BY
from inferenceversion_operator.outcome import Stalled

log = logging.getLogger(__name__)
Object = Mapping[str, Any]
_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_Id = tuple[str, str, str]  # kind, namespace, name
# An apply that names a resource version meets a conflict where an object of another one is there, and makes the object
# where none is. No object is as old as this one, so it means: only if the name is free.
_OF_NOTHING = "1"
_EQUAL_LIMIT = 100_000


class Action(StrEnum):
    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


class Writer:
    """Writes objects, statuses, deletions and events.

    Args:
        may_write: asked before each request; a process that lost its leadership writes nothing more.

    Attributes:
        writes: number of requests by verb and kind.
    """

    def __init__(self, client: KubeClient, cache: Cache, may_write: Callable[[], bool] = lambda: True) -> None:
        self._client = client
        self._cache = cache
        self._may_write = may_write
        self._equal: dict[_Id, tuple[str, str]] = {}
        self.writes: Counter[tuple[str, str]] = Counter()

    async def apply(self, wanted: Object) -> Action:
        """Make an object as wanted; fields that are not in it are left to others.

        Raises:
            Stalled: an object of this name is there and isn't ours.
            ApiError: the server refused.
        """
        kind, meta = wanted["kind"], wanted["metadata"]
        fingerprint = _fingerprint(wanted)
        stamped = {
            **wanted,
            "metadata": {**meta, "annotations": {**meta.get("annotations", {}), ANNOTATION_APPLIED: fingerprint}},
        }
        live = self._cache.get(kind, meta["namespace"], meta["name"])
        ident = (kind, meta["namespace"], meta["name"])
        if live is not None and (kind == "InferenceEndpoint" or self._as_wanted(ident, live, stamped, fingerprint)):
            return Action.UNCHANGED  # an endpoint is made where there is none; its spec is its maker's
        try:
            stored = await self._create(ident, stamped) if live is None else await self._change(ident, live, stamped)
        except ApiError as error:
            if "NamespaceTerminating" in error.causes:  # all of it is going, and nobody waits for this one
                return Action.UNCHANGED
            raise
        if stored is None:
            return Action.UNCHANGED
        self._remember(ident, fingerprint, stored)
        self._cache.put(stored)
        return Action.CREATED if live is None else Action.CONFIGURED

    async def _create(self, ident: _Id, stamped: Object) -> Object | None:
        """Make an object that the watch does not know, if its name is free; else look at what has that name."""
        meta = {**stamped["metadata"], "resourceVersion": _OF_NOTHING}
        try:
            return await self._apply(ident, {**stamped, "metadata": meta}, force=False)
        except ApiError as error:
            if error.status != 409:
                raise
        there = await self._look_up(*ident)
        if there is None:
            raise ApiError(409, "Conflict", f"{ident[0]} {ident[2]} was there a moment ago and is not any more")
        if ident[0] == "InferenceEndpoint":  # somebody declared it a moment ago: the watch is about to tell
            return None
        return await self._change(ident, there, stamped)

    async def _change(self, ident: _Id, there: Object, stamped: Object) -> Object:
        """Change an object that is ours: this very one, not what somebody may just have made in its place."""
        if not self._is_ours(there, stamped):
            raise _taken(ident[0], ident[2])
        meta = {**stamped["metadata"], "uid": there["metadata"]["uid"]}
        try:
            return await self._apply(ident, {**stamped, "metadata": meta}, force=True)
        except ApiError as error:
            if error.status == 422 and "metadata.uid" in error.message:  # it goes by once the watch has told
                raise ApiError(409, "Conflict", error.message) from error
            raise

    async def _apply(self, ident: _Id, stamped: Object, *, force: bool) -> Object:
        kind, namespace, name = ident
        params = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false"}
        path = BY_KIND[kind].path(namespace, name)
        return await self._send("PATCH", kind, path, params=params, body=stamped, content_type=_APPLY)

    async def apply_status(self, kind: str, namespace: str, name: str, status: Object) -> Action:
        """Make the status exactly as given; the operator is its only author."""
        live = self._cache.get(kind, namespace, name)
        if live is None or live.get("status") == status:
            return Action.UNCHANGED
        resource = BY_KIND[kind]
        meta = {"name": name, "namespace": namespace}
        body = {"apiVersion": resource.api_version, "kind": kind, "metadata": meta, "status": status}
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        path = resource.path(namespace, name, "status")
        try:
            stored = await self._send("PATCH", kind, path, params=params, body=body, content_type=_APPLY)
            if stored.get("status") != status:  # an apply leaves alone what somebody else wrote by hand
                replace = [{"op": "replace", "path": "/status", "value": status}]
                stored = await self._send("PATCH", kind, path, body=replace, content_type=_JSON_PATCH)
        except ApiError as error:
            if error.status == 404:  # deleted meanwhile: nobody reads its status
                return Action.UNCHANGED
            raise
        self._cache.put(stored)
        return Action.CONFIGURED

    def has_status(self, kind: str, namespace: str, name: str) -> bool:
        """Say whether an object was given a status before."""
        live = self._cache.get(kind, namespace, name)
        return live is not None and bool(live.get("status"))

    async def delete(self, kind: str, namespace: str, name: str, uid: str | None) -> Action:
        """Delete an object, if it still is the one that was seen."""
        self._equal.pop((kind, namespace, name), None)
        preconditions = {"preconditions": {"uid": uid}} if uid else {}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", **preconditions}
        try:
            await self._send("DELETE", kind, BY_KIND[kind].path(namespace, name), body=body)
        except ApiError as error:
            if error.status in (404, 409):  # gone, or another one of the same name
                return Action.UNCHANGED
            raise
        return Action.DELETED

    async def event(self, regarding: Object, kind: str, reason: str, message: str) -> None:
        """Publish an Event about an object; failing to is logged and nothing else."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        body = {
            "apiVersion": EVENT.api_version,
            "kind": "Event",
            "metadata": {"generateName": f"{regarding['name'][:50]}-", "namespace": regarding["namespace"]},
            "eventTime": now,
            "reportingController": FIELD_MANAGER,
            "reportingInstance": FIELD_MANAGER,
            "action": "Release",
            "type": kind,
            "reason": reason,
            "note": message[:1024],
            "regarding": regarding,
        }
        try:
            await self._send("POST", "Event", EVENT.path(regarding["namespace"]), body=body)
        except ApiError as error:
            log.warning("event %s of %s: %s", reason, regarding["name"], error)

    async def _look_up(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object that the watch does not know: its label is gone, or somebody else made it."""
        params = {"fieldSelector": f"metadata.name={name}"}
        items: list[Object] = (await self._client.request("GET", BY_KIND[kind].path(namespace), params=params))["items"]
        return items[0] if items else None

    def _is_ours(self, there: Object, wanted: Object) -> bool:
        """Say whether an object may be made as wanted: it has our label or our owner, and no other living owner."""
        owner, wanted_owner = _controller(there), _controller(wanted)
        if owner is None:
            return (there["metadata"].get("labels") or {}).get(LABEL_MANAGED_BY) == FIELD_MANAGER
        if wanted_owner is not None and owner["uid"] == wanted_owner["uid"]:
            return True
        if owner.get("apiVersion") != API_VERSION:
            return False
        living = self._cache.get(owner["kind"], there["metadata"]["namespace"], owner["name"])
        return living is None or living["metadata"].get("uid") != owner["uid"]

    async def _send(self, verb: str, kind: str, path: str, **request: Any) -> dict[str, Any]:
        if not self._may_write():
            raise ApiError(403, "NotLeader", "this process does not lead and writes nothing")
        self.writes[verb, kind] += 1
        return await self._client.request(verb, path, **request)

    def _as_wanted(self, ident: _Id, live: Object, wanted: Object, fingerprint: str) -> bool:
        if (live["metadata"].get("annotations") or {}).get(ANNOTATION_APPLIED) != fingerprint:
            return False
        if not _metadata_holds(live["metadata"], wanted["metadata"]):
            return False
        # The server may store a value in another form than ours: what it made of our last write is as wanted.
        if self._equal.get(ident) == (fingerprint, _generation(live)):
            return True
        rest = {key: value for key, value in comparable(wanted).items() if key != "metadata"}
        if not holds(live, rest):
            return False
        self._remember(ident, fingerprint, live)
        return True

    def _remember(self, ident: _Id, fingerprint: str, live: Object) -> None:
        if len(self._equal) >= _EQUAL_LIMIT:  # it only saves a comparison
            self._equal.clear()
        self._equal[ident] = fingerprint, _generation(live)


def holds(live: Any, wanted: Any) -> bool:
    """Say whether every wanted field is in the live object with the wanted value; lists must match item by item."""
    # The concrete types that JSON has: asking for Mapping costs three times as much, and this is the hottest loop.
    live = unpacked(live)
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(key in live and holds(live[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        same = isinstance(live, list) and len(live) == len(wanted)
        return same and all(holds(a, b) for a, b in zip(live, wanted, strict=True))
    return bool(live == wanted)


def _metadata_holds(live: Object, wanted: Object) -> bool:
    """Say whether the metadata is as wanted; owners that others added don't matter."""
    rest = {key: value for key, value in wanted.items() if key != "ownerReferences"}
    owners = live.get("ownerReferences") or ()
    return holds(live, rest) and all(
        any(holds(owner, mine) for owner in owners) for mine in wanted.get("ownerReferences", ())
    )


def _controller(obj: Object) -> Object | None:
    owners: list[Object] = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def _taken(kind: str, name: str) -> Stalled:
    hint = "rename or delete it, or give the endpoint another name"
    return Stalled("NameTaken", f"{kind} {name} exists and is not ours: {hint}")


def _generation(obj: Object) -> str:
    """Return what changes with the spec and not with the status, where the kind has it."""
    meta = obj["metadata"]
    return str(meta.get("generation") or meta["resourceVersion"])


def _fingerprint(wanted: Object) -> str:
    return hashlib.sha256(json.dumps(comparable(wanted), sort_keys=True).encode()).hexdigest()[:16]
