"""What is known of one release, as data: from the endpoint's status, and from the versions that are still there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.views.candidate import GateView, view_gates
from inferenceversion_operator.cli.views.differences import Change, compare
from inferenceversion_operator.cli.views.release import how_released
from inferenceversion_operator.core.conditions import timestamp

Object = Mapping[str, Any]
UNDER_WAY = "UnderWay"


@dataclass(frozen=True, slots=True)
class StepView:
    """A phase or step: from when until when (None: it goes on), with which share of live requests in percent."""

    phase: str
    weight: int
    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class Point:
    """A moment and what was measured then, in the unit of the series; None: nothing."""

    at: float  # seconds since 1970
    value: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """What Prometheus has of one measure and one version over the time of the release."""

    measure: str  # p95, p99, success, requests
    version: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """Another release of the endpoint."""

    version: str
    outcome: str
    since: str | None = None
    until: str | None = None
    reason: str | None = None
    message: str | None = None
    instead: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One release.

    Attributes:
        outcome: Promoted, Failed, Aborted, Superseded; UnderWay while it goes on.
        until: when it ended; while it goes on, when this was written.
        compared_with: the version that was stable meanwhile.
        strategy: how it was to be released, by the spec as it is now; None where it went through no steps, or is gone.
        changes: what differs from ``compared_with``; None where one of the two is gone.
        series: empty where Prometheus was not asked; ``series_missing`` says why there are none. Each point is over
            the ``series_window_seconds`` before it.
    """

    namespace: str
    endpoint: str
    version: str
    outcome: str
    written_at: str
    since: str | None
    until: str | None
    name: str | None = None
    digest: str | None = None
    reason: str | None = None
    message: str | None = None
    by: str | None = None
    compared_with: str | None = None
    compared_digest: str | None = None
    strategy: str | None = None
    steps: tuple[StepView, ...] = ()
    gates: tuple[GateView, ...] = ()
    changes: tuple[Change, ...] | None = None
    history: tuple[Past, ...] = ()
    series: tuple[Series, ...] = ()
    series_window_seconds: int | None = None
    series_missing: str | None = None


def collect(endpoint: Object, versions: Sequence[Object], wanted: str | None, now: datetime) -> Report:
    """Return the report of a release.

    Args:
        wanted: the version, or the name of its InferenceVersion; None: what is under way, else what ended last.

    Raises:
        UserError: the endpoint knows of no such release.
    """
    status, metadata = endpoint.get("status") or {}, endpoint["metadata"]
    entry = _entry(status, wanted, metadata["name"])
    under_way = entry is status.get("candidate")
    until = timestamp(now) if under_way else entry.get("until") or entry.get("since")
    version = str(entry["version"])
    beside = status.get("stable") if under_way else entry.get("instead")
    mine, other = _find(versions, version), _find(versions, beside)
    return Report(
        namespace=metadata["namespace"],
        endpoint=metadata["name"],
        version=version,
        name=entry.get("name"),
        digest=entry.get("digest") or _digest(mine),
        outcome=UNDER_WAY if under_way else str(entry.get("outcome", "Ended")),
        written_at=timestamp(now),
        since=entry.get("startedAt") or entry.get("since"),
        until=until,
        reason=entry.get("reason"),
        message=entry.get("message") or (_now_told(status) if under_way else None),
        by=entry.get("by"),
        compared_with=beside,
        compared_digest=_digest(other),
        strategy=how_released(mine) if mine and (under_way or entry.get("steps")) else None,
        steps=_steps(entry.get("steps") or (), None if under_way else until),
        gates=view_gates(entry.get("gates")),
        changes=_changes(other, mine) if mine and other else None,
        history=tuple(_past(e) for e in status.get("history") or ()),
    )


def _entry(status: Object, wanted: str | None, endpoint: str) -> Object:
    candidate, history = status.get("candidate") or {}, status.get("history") or []
    releases: list[Object] = [*([candidate] if candidate.get("version") else []), *history]
    for entry in releases:
        if wanted in (None, entry["version"], entry.get("name")):
            return entry
    known = ", ".join(dict.fromkeys(str(entry["version"]) for entry in releases)) or "none"
    if wanted is None:
        raise UserError(f"endpoint {endpoint} has no release in its history yet")
    raise UserError(f"endpoint {endpoint} knows of no release of {wanted} (of: {known})")


def _now_told(status: Object) -> str | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            return str(condition.get("message"))
    return None


def _find(versions: Iterable[Object], wanted: str | None) -> Object | None:
    return next((v for v in versions if wanted and (v.get("spec") or {}).get("version") == wanted), None)


def _digest(version: Object | None) -> str | None:
    return ((version or {}).get("status") or {}).get("snapshotDigest")


def _steps(steps: Sequence[Object], until: str | None) -> tuple[StepView, ...]:
    """Return the steps, each until the next one that began; one that never began has no time."""
    views = []
    for place, step in enumerate(steps):
        since = step.get("since")
        end = next((later["since"] for later in steps[place + 1 :] if later.get("since")), until)
        views.append(StepView(str(step["phase"]), int(step["weight"]), since, end if since else None))
    return tuple(views)


def _changes(a: Object, b: Object) -> tuple[Change, ...] | None:
    try:
        return tuple(change for part in compare(a, b).parts for change in part.changes)
    except (AttributeError, KeyError, TypeError, ValueError):  # an older or newer schema let it in
        return None


def _past(entry: Object) -> Past:
    told = {key: entry.get(key) for key in ("since", "until", "reason", "message", "instead", "by")}
    return Past(version=str(entry["version"]), outcome=str(entry.get("outcome", "")), **told)
