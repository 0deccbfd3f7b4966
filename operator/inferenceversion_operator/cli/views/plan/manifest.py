"""One manifest: what of it is new, and what the API server would refuse."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from inferenceversion_operator.api.digest import snapshot_digest
from inferenceversion_operator.api.schema import validate
from inferenceversion_operator.cli.views.differences import Change, changes_of
from inferenceversion_operator.core.conditions import timestamp

Object = Mapping[str, Any]
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Effect(StrEnum):
    NEW = "new"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ManifestPlan:
    """What becomes of one manifest.

    Attributes:
        digest: of the snapshot, for an InferenceVersion.
        problems: what it is refused for; empty: it is not.
        changes: of its spec, against what is on the cluster.
    """

    file: str
    line: int
    kind: str
    namespace: str
    name: str
    effect: Effect
    version: str | None = None
    digest: str | None = None
    problems: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """A manifest and the object that applying it would leave.

    Attributes:
        live: as it is stored now; None: it is not.
        after: as it would be stored; what is there now where it is refused.
    """

    plan: ManifestPlan
    live: Object | None
    after: Object | None


def check(manifest: Object, live: Object | None) -> tuple[str, ...]:
    """Return what the API server would refuse for, as far as schema and rules say."""
    after = predict(manifest, live, None)
    before = None if live is None else _clean(live)
    return tuple(str(problem) for problem in validate(_clean(after), before))


def apply(
    manifest: Object,
    live: Object | None,
    dry_run: Object | None,
    problems: Sequence[str],
    place: tuple[str, int],
    now: datetime,
) -> Applied:
    """Say what becomes of a manifest.

    Args:
        manifest: as it is written, its namespace filled in.
        live: as it is stored; None: it is not.
        dry_run: what the API server would store; None where it was not asked.
        problems: what it is refused for.
        place: file and line.
    """
    after = live if problems else predict(manifest, live, dry_run)
    if after and not live:  # the younger of two objects with one version is the one that is refused
        after = {**after, "metadata": {**after["metadata"], "creationTimestamp": timestamp(now)}}
    # Of what is refused it is told what was wanted.
    changes = _changes(manifest["kind"], live, predict(manifest, live, None) if problems else after)
    spec = manifest.get("spec") or {}
    plan = ManifestPlan(
        file=place[0],
        line=place[1],
        kind=manifest["kind"],
        namespace=manifest["metadata"]["namespace"],
        name=manifest["metadata"]["name"],
        effect=_effect(live, problems, changes),
        version=spec.get("version"),
        digest=_digest(manifest["kind"], spec),
        problems=tuple(problems),
        changes=changes,
    )
    return Applied(plan, live, after)


def predict(manifest: Object, live: Object | None, dry_run: Object | None) -> dict[str, Any]:
    """Return the object after `kubectl apply`.

    What `kubectl apply` stored before says which fields it removes: those that were in it, and are not in the manifest.
    A field that somebody else set, such as a pin by `kubectl iv rollback`, stays.
    """
    if live is None:
        return {**(dry_run or manifest), "metadata": _metadata(dry_run or manifest)}
    last = _last_applied(live)
    before = live.get("spec") or {}
    if dry_run is not None and last is None:
        spec = dry_run.get("spec") or {}
    else:
        spec = _merged(before, manifest.get("spec") or {}, (last or {}).get("spec") or {})
    generation = live["metadata"].get("generation", 1) + (spec != before)
    return {**live, "metadata": {**live["metadata"], "generation": generation}, "spec": spec}


def _effect(live: Object | None, problems: Sequence[str], changes: Sequence[Change]) -> Effect:
    if problems:
        return Effect.REFUSED
    if live is None:
        return Effect.NEW
    return Effect.CHANGED if changes else Effect.UNCHANGED


def _changes(kind: str, live: Object | None, after: Object | None) -> tuple[Change, ...]:
    if live is None or after is None:
        return ()
    try:
        return tuple(changes_of(kind, live.get("spec") or {}, after.get("spec") or {}))
    except _UNREADABLE:  # that is what it is refused for
        return ()


def _digest(kind: str, spec: Mapping[str, Any]) -> str | None:
    try:
        return snapshot_digest(spec) if kind == "InferenceVersion" else None
    except _UNREADABLE:
        return None


def _clean(obj: Object) -> dict[str, Any]:
    """Return what a person writes of an object: the rest is the API server's own business."""
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: value for key, value in obj["metadata"].items() if key in kept}
    return {**{key: obj[key] for key in ("apiVersion", "kind", "spec") if key in obj}, "metadata": metadata}


def _metadata(obj: Object) -> dict[str, Any]:
    """Return the metadata of what is not there yet: a dry run makes up a uid, and no object will have it."""
    return {key: value for key, value in obj["metadata"].items() if key not in ("uid", "resourceVersion")}


def _last_applied(live: Object) -> Object | None:
    text = (live["metadata"].get("annotations") or {}).get(_LAST_APPLIED)
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _merged(live: Mapping[str, Any], wanted: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    """Return the three-way merge that kubectl does for custom resources; lists are replaced."""
    result = {key: value for key, value in live.items() if key not in last or key in wanted}
    for key, value in wanted.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            before = last.get(key)
            result[key] = _merged(result[key], value, before if isinstance(before, Mapping) else {})
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result
