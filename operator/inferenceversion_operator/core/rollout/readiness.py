"""Can a version take requests: pods that are ready, and addresses that the Gateway can know."""

import math
from datetime import UTC, datetime

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.conditions import parse_timestamp
from inferenceversion_operator.core.health import observe_health
from inferenceversion_operator.core.snapshot import Snapshot

_SERVICE_NAME = "kubernetes.io/service-name"


def replicas_needed(version: InferenceVersion) -> int:
    """Return how many pods a version needs for all requests."""
    return max(1, version.autoscaling.min_replicas)


def is_ready(seen: Snapshot, version: InferenceVersion) -> bool:
    """Say whether the version has the pods that it needs for all traffic, and the Gateway can know where they are.

    The Deployment and the EndpointSlices are counted by two controllers. A route that moves between the two would lead
    to a Service without addresses.
    """
    return _serving(seen, version) >= replicas_needed(version)


def can_carry(seen: Snapshot, version: InferenceVersion, weight: int) -> bool:
    """Say whether what is ready now is enough for a share of the requests that the version has already."""
    return _serving(seen, version) >= max(1, math.ceil(replicas_needed(version) * weight / 100))


def answers(seen: Snapshot, version: InferenceVersion) -> bool:
    """Say whether one pod of the version is ready at least."""
    return observe_health(seen, version).ready_replicas > 0


def down_since(seen: Snapshot, stable: InferenceVersion, now: datetime) -> datetime | None:
    """Return since when the stable version has no ready pod; None while it has one."""
    if answers(seen, stable):
        return None
    told = seen.endpoint.status.get("stableDownSince") if seen.endpoint else None
    try:
        return min(parse_timestamp(str(told)).astimezone(UTC), now) if told else now
    except (ValueError, OverflowError):
        return now


def addresses(seen: Snapshot, service: str) -> int:
    """Return how many pods the EndpointSlices of a Service name as ready."""
    pods = {
        endpoint.get("targetRef", {}).get("uid")
        for obj in seen.objects
        if obj["kind"] == "EndpointSlice" and obj["metadata"]["labels"].get(_SERVICE_NAME) == service
        for endpoint in obj.get("endpoints") or ()
        if endpoint.get("conditions", {}).get("ready")
    }
    return len(pods)


def _serving(seen: Snapshot, version: InferenceVersion) -> int:
    return min(observe_health(seen, version).ready_replicas, addresses(seen, version_name(version.name)))
