"""The status of an InferenceVersion: its role, its pods, and conditions that say what is wrong and what to do."""

from datetime import datetime
from typing import Any

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.semver import is_prerelease
from inferenceversion_operator.api.types import InferenceVersion, Role
from inferenceversion_operator.core.conditions import Condition, find, merge
from inferenceversion_operator.core.health import Health, observe_health
from inferenceversion_operator.core.plan import Ref, StatusOf
from inferenceversion_operator.core.rollout.choose import has_failed
from inferenceversion_operator.core.rollout.readiness import replicas_needed
from inferenceversion_operator.core.rollout.release import Outcome, Release
from inferenceversion_operator.core.rollout.roles import Cast
from inferenceversion_operator.core.snapshot import Broken, Failure, Snapshot

_GIVEN_UP = (("Ready", "False"), ("Stalled", "True"), ("Failed", "True"))
_RUNNING = (Role.STABLE, Role.CANDIDATE, Role.WARM)
# Nothing but a person (or what they own) changes these; the rest may pass by itself.
_NEEDS_A_PERSON = {
    "WeightHashDiffers",
    "PreprocessorHashDiffers",
    "PostprocessorHashDiffers",
    "SourceNotFound",
    "SourceForbidden",
    "SourceInvalid",
    "SourceTooLarge",
    "PlanInvalid",
    "ImageNotPulled",
    "ContainerConfigError",
    "LoadFailed",
    "OutOfMemory",
}


def version_status(seen: Snapshot, version: InferenceVersion, cast: Cast, release: Release, now: datetime) -> StatusOf:
    """Return the whole status of an accepted version."""
    role = cast.roles[version.name]
    running = role in _RUNNING
    health = observe_health(seen, version)
    accepted = Condition("Accepted", "True", "Accepted", f"is version {version.version} of endpoint {seen.name}")
    conditions = [accepted]
    if running:
        conditions += _in_order(health)
        conditions += _readiness(version, health, seen.failure, release)
        conditions += _failed_before(version, role)
    else:
        conditions += _at_rest(seen, version, role, release)
    status: dict[str, Any] = {
        "observedGeneration": version.generation,
        "snapshotDigest": version.digest,
        "role": role.value,
        "name": version_name(version.name),
        "replicas": health.replicas,
        "readyReplicas": health.ready_replicas,
        "weight": next((share for v, share in release.weights() if v.name == version.name), 0),
        "conditions": merge(version.status.get("conditions", ()), conditions, version.generation, now),
    }
    return StatusOf(_ref(version), status)


def refused_status(version: InferenceVersion, first: InferenceVersion, now: datetime) -> StatusOf:
    """Return the status of a version whose ``spec.version`` another object took before."""
    message = (
        f"spec.version {version.version} of endpoint {version.endpoint} is taken by InferenceVersion {first.name}, "
        "which came first: give this one another version or delete it"
    )
    return StatusOf(
        _ref(version),
        {
            "observedGeneration": version.generation,
            "snapshotDigest": version.digest,
            "role": Role.IDLE.value,
            "conditions": merge(
                version.status.get("conditions", ()), _refusal("DuplicateVersion", message), version.generation, now
            ),
        },
    )


def broken_status(broken: Broken, now: datetime) -> StatusOf:
    """Return the status of an object that can't be read."""
    message = f"the object can't be read by this operator: {broken.problem}"
    conditions = merge(broken.status.get("conditions", ()), _refusal("Unreadable", message), broken.generation, now)
    return StatusOf(
        Ref("InferenceVersion", broken.namespace, broken.name),
        {"observedGeneration": broken.generation, "role": Role.IDLE.value, "conditions": conditions},
    )


def _refusal(reason: str, message: str) -> list[Condition]:
    return [
        Condition("Accepted", "False", reason, message),
        Condition("Ready", "False", reason, message),
        Condition("Stalled", "True", reason, message),
    ]


def _in_order(health: Health) -> list[Condition]:
    by_type = {condition.type: condition for condition in health.conditions}
    return [by_type[kind] for kind in ("WeightsVerified", "Scheduled", "Loaded", "WarmedUp")]


def _readiness(version: InferenceVersion, health: Health, failure: Failure | None, release: Release) -> list[Condition]:
    needed = replicas_needed(version)
    count = f"{health.ready_replicas} of {needed} replicas ready"
    if health.ready_replicas >= needed:
        return _released(version, count, release)
    if failure and failure.object_name.startswith(version_name(version.name)):
        kind = "Stalled" if failure.needs_a_person else "Reconciling"
        return [
            Condition("Ready", "False", failure.reason, failure.message),
            Condition(kind, "True", failure.reason, failure.message),
        ]
    if health.problem is None:
        return [
            Condition("Ready", "False", "Progressing", count),
            Condition("Reconciling", "True", "Progressing", count),
        ]
    reason, message = health.problem.reason, health.problem.message
    kind = "Stalled" if reason in _NEEDS_A_PERSON and health.ready_replicas == 0 else "Reconciling"
    return [
        Condition("Ready", "False", reason, f"{count}: {message}"),
        Condition(kind, "True", reason, message),
    ]


def _released(version: InferenceVersion, count: str, release: Release) -> list[Condition]:
    """Say whether a version with all its pods is where it is wanted: a candidate is on its way until it is stable."""
    attempt = release.attempt
    if attempt is None or attempt.candidate.name != version.name:
        return [Condition("Ready", "True", "Ready", count)]
    if release.stalled:
        return [
            Condition("Ready", "False", release.stalled.reason, release.stalled.message),
            Condition("Stalled", "True", release.stalled.reason, release.stalled.message),
        ]
    reason = attempt.phase.value
    return [
        Condition("Ready", "False", reason, release.waits_for or count),
        Condition("Reconciling", "True", reason, release.waits_for or count),
    ]


def _failed_before(version: InferenceVersion, role: Role) -> list[Condition]:
    """Keep the record of a failure while somebody insists on the version, until it serves after all."""
    before = find(version.status.get("conditions"), "Failed")
    if before is None or role is Role.STABLE or not has_failed(version):
        return []
    return [Condition("Failed", "True", str(before["reason"]), str(before["message"]))]


def _at_rest(seen: Snapshot, version: InferenceVersion, role: Role, release: Release) -> list[Condition]:
    """Return the conditions of a version that holds no capacity: at rest is what is wanted, so it is Ready."""
    if role is Role.FAILED:
        return _failed(version, release)
    if release.stalled and release.held and release.held.name == version.name:
        return [
            Condition("Ready", "False", release.stalled.reason, release.stalled.message),
            Condition("Stalled", "True", release.stalled.reason, release.stalled.message),
        ]
    broken = _broken_when_it_ran(version)
    if role is Role.RETIRED:
        return [Condition("Ready", "True", "Retired", "was stable before; scaled to zero"), *broken]
    return [Condition("Ready", "True", "NotWanted", f"nothing runs: {_why_not(seen, version, release)}"), *broken]


def _broken_when_it_ran(version: InferenceVersion) -> list[Condition]:
    """Keep what was wrong with a version that nobody wants any more: whoever goes back to it wants to know before."""
    conditions = version.status.get("conditions")
    kept = find(conditions, "Broken")
    if kept:
        return [Condition("Broken", "True", str(kept["reason"]), str(kept["message"]))]
    ready = find(conditions, "Ready")
    if ready is None or ready["status"] != "False" or ready["reason"] not in _NEEDS_A_PERSON:
        return []
    return [Condition("Broken", "True", str(ready["reason"]), f"when it ran last: {ready['message']}")]


def _failed(version: InferenceVersion, release: Release) -> list[Condition]:
    """Return why a version was given up: just now, or as its status has it since then."""
    end = release.given_up
    before = find(version.status.get("conditions"), "Failed") if has_failed(version) else None
    if end and end.version.name == version.name:
        reason = Outcome.ABORTED.value if end.outcome is Outcome.ABORTED else "ReleaseFailed"
        message = end.message
    else:
        reason = str(before["reason"]) if before else "ReleaseFailed"
        message = str(before["message"]) if before else ""
    hint = f"{message}; it is not tried again: release a new version, or pin this one to insist"
    hint = message if "not tried again" in message else hint
    return [Condition(kind, status, reason, hint) for kind, status in _GIVEN_UP]


def _why_not(seen: Snapshot, version: InferenceVersion, release: Release) -> str:
    """Say what keeps a version that could serve from being wanted."""
    if seen.endpoint and seen.endpoint.pin:
        return f"the endpoint is pinned to {seen.endpoint.pin}"
    wanted = release.held or release.candidate or release.stable
    if wanted is None:
        return "no version serves"
    if is_prerelease(version.version) and not is_prerelease(wanted.version):
        return f"a pre-release is wanted only where it is pinned; {wanted.version} is wanted"
    if release.held and not release.stalled:
        return f"the endpoint is paused, and {release.held.version} waits: kubectl iv resume {seen.name}"
    if release.held and release.stalled:
        return f"{wanted.version} is wanted, and held back ({release.stalled.reason}): delete it or pin this one"
    return f"{wanted.version} is wanted"


def _ref(version: InferenceVersion) -> Ref:
    return Ref("InferenceVersion", version.namespace, version.name, version.uid)
