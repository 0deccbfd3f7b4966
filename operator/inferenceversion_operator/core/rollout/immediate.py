"""Strategy Immediate: the wanted version takes all traffic as soon as it is Ready, and not a moment before."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceVersion, Role, Strategy
from inferenceversion_operator.core.conditions import find, parse_timestamp, timestamp
from inferenceversion_operator.core.health import observe_health, why_not_ready
from inferenceversion_operator.core.rollout.choose import choose_version, has_failed, once_stable
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.outcome import Stalled

_SERVICE_NAME = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Release:
    """Where a release stands after this decision."""

    stable: InferenceVersion | None
    candidate: InferenceVersion | None = None
    since: str | None = None  # when the candidate became one
    promoted: InferenceVersion | None = None  # became stable just now
    failed: InferenceVersion | None = None  # was given up just now
    failure: str = ""
    stalled: Stalled | None = None
    held: InferenceVersion | None = None  # the version that is wanted and can't be released
    recheck_at: datetime | None = None


def next_release(seen: Snapshot, now: datetime) -> Release:
    """Decide whether the candidate takes over, waits or is given up."""
    stable = current_stable(seen)
    release = _next_release(seen, stable, now)
    if stable and release.promoted is None and seen.endpoint and not seen.endpoint.status.get("stable"):
        # Found by its own status: the endpoint's history doesn't tell of its promotion.
        return replace(release, promoted=stable)
    return release


def _next_release(seen: Snapshot, stable: InferenceVersion | None, now: datetime) -> Release:
    try:
        wanted = choose_version(seen)
    except Stalled as stalled:
        return Release(stable=stable, stalled=stalled)
    if wanted is None or (stable and wanted.name == stable.name):
        return _record_failure(seen, Release(stable=stable))
    since = _candidate_since(seen, wanted, now)
    if stable and wanted.traffic.strategy is not Strategy.IMMEDIATE and not _served_before(seen, wanted):
        return Release(stable=stable, stalled=_not_supported(wanted), held=wanted)
    if _on_hold(seen, wanted):
        return Release(stable=stable, candidate=wanted if since else None, since=since)
    waiting = Release(stable=stable, candidate=wanted, since=since or timestamp(now))
    if is_ready(seen, wanted):
        return replace(waiting, stable=wanted, candidate=None, since=None, promoted=wanted)
    return _hold_or_give_up(seen, waiting, wanted, now)


def _record_failure(seen: Snapshot, release: Release) -> Release:
    """Record the failure of a candidate whose own status tells it already: the operator ended between the two."""
    status = seen.endpoint.status if seen.endpoint else {}
    before = seen.version((status.get("candidate") or {}).get("version"))
    failed = find(before.status.get("conditions"), "Failed") if before and has_failed(before) else None
    return replace(release, failed=before, failure=str(failed["message"])) if failed else release


def _candidate_since(seen: Snapshot, wanted: InferenceVersion, now: datetime) -> str | None:
    """Return when this version became the candidate, if it is that already; a time that can't be is none."""
    status = seen.endpoint.status if seen.endpoint else {}
    before = status.get("candidate") or {}
    since = before.get("since") if before.get("version") == wanted.version else None
    try:
        return str(since) if since and parse_timestamp(since) <= now else None
    except (ValueError, OverflowError):
        return None


def _on_hold(seen: Snapshot, wanted: InferenceVersion) -> bool:
    """Say whether spec.paused keeps this version back: everything but a rollback to one that was stable before."""
    endpoint = seen.endpoint
    if endpoint is None or not endpoint.paused:
        return False
    return not (endpoint.pin == wanted.version and _served_before(seen, wanted))


def _served_before(seen: Snapshot, version: InferenceVersion) -> bool:
    history = seen.endpoint.status.get("history", ()) if seen.endpoint else ()
    return version.version in once_stable(history)


def _not_supported(version: InferenceVersion) -> Stalled:
    # To release it all at once would be what its author wanted to avoid.
    return Stalled(
        "StrategyNotSupported",
        f"version {version.version} asks for traffic.strategy {version.traffic.strategy}, and this operator "
        "releases Immediate alone: set traffic.strategy to Immediate (it may be changed); traffic stays where it is",
    )


def _hold_or_give_up(seen: Snapshot, waiting: Release, candidate: InferenceVersion, now: datetime) -> Release:
    """Give the candidate up after its deadline, if something else serves and nobody pinned it by hand."""
    pinned = seen.endpoint is not None and seen.endpoint.pin == candidate.version
    if waiting.since is None or waiting.stable is None or pinned or not is_ready(seen, waiting.stable):
        return waiting
    deadline = parse_timestamp(waiting.since) + timedelta(seconds=seen.settings.ready_deadline_s)
    if now < deadline:
        return replace(waiting, recheck_at=deadline)
    failure = f"not Ready within {seen.settings.ready_deadline_s:g} s{why_not_ready(seen, candidate)}"
    return replace(waiting, candidate=None, since=None, failed=candidate, failure=failure, recheck_at=None)


def current_stable(seen: Snapshot) -> InferenceVersion | None:
    """Return the version that the endpoint's status names as stable, while it exists.

    An endpoint that was deleted and made again knows of none; the version that serves says so in its own status.
    Without that, what serves would be scaled down for a version that was never ready.
    """
    if seen.endpoint is None:
        return None
    named = seen.endpoint.status.get("stable")
    if named:
        return seen.version(named)
    return next((v for v in seen.accepted() if v.status.get("role") == Role.STABLE), None)


def is_ready(seen: Snapshot, version: InferenceVersion) -> bool:
    """Say whether the version has the pods that it needs for all traffic, and the Gateway can know where they are.

    The Deployment and the EndpointSlices are counted by two controllers. A route that moves between the two would lead
    to a Service without addresses.
    """
    needed = max(1, version.autoscaling.min_replicas)
    return observe_health(seen, version).ready_replicas >= needed and _addresses(seen, version) >= needed


def _addresses(seen: Snapshot, version: InferenceVersion) -> int:
    """Return how many pods the EndpointSlices of the version's Service name as ready."""
    service = version_name(version.name)
    pods = {
        endpoint.get("targetRef", {}).get("uid")
        for obj in seen.objects
        if obj["kind"] == "EndpointSlice" and obj["metadata"]["labels"].get(_SERVICE_NAME) == service
        for endpoint in obj.get("endpoints") or ()
        if endpoint.get("conditions", {}).get("ready")
    }
    return len(pods)
