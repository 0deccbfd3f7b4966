"""Kubernetes Events of a decision: one a change that a person wants to read later."""

from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.conditions import find
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.plan import Event, Ref, StatusOf
from inferenceversion_operator.core.rollout.attempt import Attempt
from inferenceversion_operator.core.rollout.release import Ended, Outcome, Release


def events_of(endpoint: InferenceEndpoint, release: Release) -> tuple[Event, ...]:
    """Return the events that this decision makes, in the order in which things happened."""
    regarding = Ref("InferenceEndpoint", endpoint.namespace, endpoint.name, endpoint.uid)
    events = [_end(regarding, end, endpoint.status.get("stable")) for end in reversed(release.ended)]
    if release.attempt and release.entered:
        events.append(_entered(regarding, release.attempt))
    before = find(endpoint.status.get("conditions"), "Stalled")
    if release.stalled and (before is None or before["reason"] != release.stalled.reason):
        events.append(Event(regarding, "Warning", release.stalled.reason, release.stalled.message))
    return tuple(events)


def events_of_version(version: InferenceVersion, status: StatusOf) -> tuple[Event, ...]:
    """Return the event of a version that began to need a person; the same cause is told once."""
    stalled = find(status.status.get("conditions"), "Stalled")
    before = find(version.status.get("conditions"), "Stalled")
    if stalled is None or (before and before["reason"] == stalled["reason"]):
        return ()
    return (Event(status.ref, "Warning", str(stalled["reason"]), str(stalled["message"])),)


def _end(regarding: Ref, end: Ended, before: str | None) -> Event:
    what = f"version {end.version.version}"
    if end.outcome is Outcome.PROMOTED:
        return Event(regarding, "Normal", "Promoted", f"{what} {end.message} ({end.version.digest})")
    if end.outcome is Outcome.SUPERSEDED:
        return Event(regarding, "Normal", "Superseded", f"{what}: its release ends: {end.message}")
    keeps = f"; {before} keeps serving" if before else ""
    reason = "ReleaseAborted" if end.outcome is Outcome.ABORTED else "ReleaseFailed"
    return Event(regarding, "Warning", reason, f"{what}: {end.message}{keeps}")


def _entered(regarding: Ref, attempt: Attempt) -> Event:
    version = attempt.candidate.version
    if attempt.phase is Phase.SHADOW:
        percent = attempt.candidate.traffic.shadow.percent
        message = f"copies of {percent} % of requests are answered by version {version} too, and compared"
        return Event(regarding, "Normal", "ShadowStarted", message)
    message = f"version {version} gets {attempt.weight} % of requests (step {(attempt.step or 0) + 1})"
    return Event(regarding, "Normal", "StepStarted", message)
