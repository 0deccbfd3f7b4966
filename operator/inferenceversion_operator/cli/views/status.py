"""An endpoint and its versions, as people look at them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inferenceversion_operator.api.semver import is_semver, precedence
from inferenceversion_operator.api.types import Role
from inferenceversion_operator.cli.views.candidate import CandidateView, view_candidate
from inferenceversion_operator.cli.views.wanted import held_back
from inferenceversion_operator.core.conditions import find

Object = Mapping[str, Any]


class State(StrEnum):
    """How an object does, as kstatus calls it."""

    CURRENT = "Current"  # as wanted
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"  # waits for a person
    UNKNOWN = "Unknown"


# What a person has to know first: of these, the first condition that is True tells.
_TELLING = {
    "Failed": State.FAILED,
    "Stalled": State.FAILED,
    "Reconciling": State.IN_PROGRESS,
    "Ready": State.CURRENT,
}


@dataclass(frozen=True, slots=True)
class VersionView:
    version: str
    name: str
    role: str
    weight: int
    replicas: int
    ready_replicas: int
    state: State
    reason: str
    message: str
    digest: str | None = None
    created: str | None = None
    pinned: bool = False
    held: str | None = None  # what keeps it back, where it would be released otherwise


@dataclass(frozen=True, slots=True)
class EndpointView:
    namespace: str
    name: str
    phase: str
    state: State
    reason: str
    message: str
    paused: bool
    up_to_date: bool  # the status speaks of the spec as it is now
    versions: tuple[VersionView, ...]
    stable: str | None = None
    pin: str | None = None
    url: str | None = None
    candidate: CandidateView | None = None


def view_endpoints(endpoints: Iterable[Object], versions: Iterable[Object]) -> list[EndpointView]:
    """Return the endpoints by namespace and name, each with its versions."""
    by_endpoint: dict[tuple[str, str], list[Object]] = {}
    for version in versions:
        spec = version.get("spec") or {}
        by_endpoint.setdefault((version["metadata"]["namespace"], spec.get("endpoint", "")), []).append(version)
    views = [
        view_endpoint(endpoint, by_endpoint.get((endpoint["metadata"]["namespace"], endpoint["metadata"]["name"]), ()))
        for endpoint in endpoints
    ]
    return sorted(views, key=lambda view: (view.namespace, view.name))


def view_endpoint(endpoint: Object, versions: Iterable[Object]) -> EndpointView:
    """Return one endpoint with its versions."""
    metadata, spec, status = endpoint["metadata"], endpoint.get("spec") or {}, endpoint.get("status") or {}
    state, told = _told(status)
    pin, versions = spec.get("version"), tuple(versions)
    return EndpointView(
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=status.get("phase", "Unknown"),
        state=state,
        reason=told.get("reason", "NoStatus"),
        message=told.get("message", "the operator has not looked at it yet: is it running?"),
        paused=bool(spec.get("paused")),
        up_to_date=status.get("observedGeneration") == metadata.get("generation"),
        versions=view_versions(versions, pin, held_back(endpoint, versions)),
        stable=status.get("stable"),
        pin=pin,
        url=status.get("url"),
        candidate=view_candidate(status.get("candidate"), versions),
    )


def view_versions(
    versions: Iterable[Object], pin: str | None, held: Mapping[str, str] | None = None
) -> tuple[VersionView, ...]:
    """Return the versions of one endpoint, the highest first; ``held`` says by version what keeps one back."""
    views = [_version(version, pin, held or {}) for version in versions]
    # What has no SemVer can't be stored; an older schema may have let it in.
    views.sort(key=lambda view: (is_semver(view.version), view.created or "", view.name), reverse=True)
    views.sort(key=lambda view: precedence(view.version if is_semver(view.version) else "0.0.0"), reverse=True)
    return tuple(views)


def short_digest(digest: str | None) -> str:
    """Return what is enough to tell two digests apart by eye."""
    return digest.removeprefix("sha256:")[:12] if digest else "-"


def _version(version: Object, pin: str | None, held: Mapping[str, str]) -> VersionView:
    metadata, spec, status = version["metadata"], version.get("spec") or {}, version.get("status") or {}
    state, told = _told(status)
    return VersionView(
        version=str(spec.get("version", "")),
        name=metadata["name"],
        role=status.get("role", "Unknown"),
        weight=int(status.get("weight") or 0),
        replicas=int(status.get("replicas") or 0),
        ready_replicas=int(status.get("readyReplicas") or 0),
        state=state,
        reason=told.get("reason", "NoStatus"),
        message=told.get("message", "the operator has not looked at it yet"),
        digest=status.get("snapshotDigest"),
        created=metadata.get("creationTimestamp"),
        pinned=pin is not None and spec.get("version") == pin,
        held=held.get(str(spec.get("version", ""))),
    )


def _told(status: Object) -> tuple[State, Object]:
    """Return the condition that says most: what went wrong, else what is under way, else Ready."""
    conditions = status.get("conditions")
    for kind, state in _TELLING.items():
        condition = find(conditions, kind)
        if kind == "Failed" and status.get("role") == Role.CANDIDATE:
            continue  # somebody insists, and how that goes is told by the others
        if condition and condition["status"] == "True":
            return state, condition
    return State.UNKNOWN, find(conditions, "Ready") or {}
