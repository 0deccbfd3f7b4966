"""Kubernetes Events of a decision: one a change that a person wants to read later."""

from inferenceversion_operator.api.types import InferenceEndpoint
from inferenceversion_operator.core.plan import Event, Ref
from inferenceversion_operator.core.rollout.immediate import Release


def events_of(endpoint: InferenceEndpoint, release: Release) -> tuple[Event, ...]:
    """Return the events that this decision makes."""
    regarding = Ref("InferenceEndpoint", endpoint.namespace, endpoint.name, endpoint.uid)
    before = endpoint.status.get("stable")
    events = []
    if release.promoted:
        instead = f" instead of {before}" if before else ""
        message = f"version {release.promoted.version} serves all traffic{instead} ({release.promoted.digest})"
        events.append(Event(regarding, "Normal", "Promoted", message))
    if release.failed:
        message = f"version {release.failed.version}: {release.failure}; {before} keeps serving"
        events.append(Event(regarding, "Warning", "ReleaseFailed", message))
    return tuple(events)
