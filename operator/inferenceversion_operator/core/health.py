"""How a version's pods do, told as conditions that carry the cause, so that nobody has to open logs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.conditions import Condition, find
from inferenceversion_operator.core.objects.triton_config import without_warmup
from inferenceversion_operator.core.snapshot import Object, Snapshot
from inferenceversion_operator.core.triton_log import load_error

# A container that waits for one of these won't start until somebody acts; the kubelet retries by itself.
_CANNOT_START = {
    "ErrImagePull": "ImageNotPulled",
    "ImagePullBackOff": "ImageNotPulled",
    "ErrImageNeverPull": "ImageNotPulled",
    "InvalidImageName": "ImageNotPulled",
    "CreateContainerConfigError": "ContainerConfigError",
    "CreateContainerError": "ContainerNotCreated",
    "RunContainerError": "ContainerNotStarted",
}
_FETCHING = ("stage", "fetch")
_SERVING = ("guard", "triton")


@dataclass(frozen=True, slots=True)
class Health:
    replicas: int
    ready_replicas: int
    conditions: tuple[Condition, ...]  # WeightsVerified, Scheduled, Loaded, WarmedUp
    problem: Condition | None  # the first condition that is False: what keeps the version from being Ready


def observe_health(seen: Snapshot, version: InferenceVersion) -> Health:
    """Read the version's Deployment and pods into conditions."""
    deployment = seen.find("Deployment", version_name(version.name)) or {}
    status = deployment.get("status", {})
    pods = seen.pods_of(version)
    loaded = _loaded(pods)
    conditions = (_scheduled(pods, status), _weights_verified(pods), loaded, _warmed_up(version, loaded))
    problem = next((c for c in conditions if c.status == "False"), None)
    return Health(
        replicas=int(status.get("replicas", 0)),
        ready_replicas=int(status.get("readyReplicas", 0)),
        conditions=conditions,
        problem=problem,
    )


def why_not_ready(seen: Snapshot, version: InferenceVersion) -> str:
    """Return the cause, to be put behind a sentence; nothing where none is known."""
    problem = observe_health(seen, version).problem
    return f": {problem.reason}: {problem.message}" if problem else ""


def _scheduled(pods: Iterable[Object], deployment_status: Mapping[str, Any]) -> Condition:
    refused = find(deployment_status.get("conditions"), "ReplicaFailure")
    if refused and refused["status"] == "True":
        return Condition("Scheduled", "False", refused.get("reason", "ReplicaFailure"), refused.get("message", ""))
    placed = False
    for pod in pods:
        scheduled = find(pod.get("status", {}).get("conditions"), "PodScheduled")
        if scheduled and scheduled["status"] == "False":
            message = f"pod {pod['metadata']['name']}: {scheduled.get('message', 'no node fits')}"
            return Condition("Scheduled", "False", scheduled.get("reason", "Unschedulable"), message)
        placed = placed or bool(scheduled)
    if placed:
        return Condition("Scheduled", "True", "Scheduled", "every pod has a node")
    return Condition("Scheduled", "Unknown", "NoPods", "no pod exists yet")


def _weights_verified(pods: Iterable[Object]) -> Condition:
    for pod in pods:
        statuses = _containers(pod, _FETCHING)
        stuck = _cannot_start(pod, statuses) or _failed_stage(pod, statuses.get("stage"))
        if stuck:
            return Condition("WeightsVerified", "False", *stuck)
        verdict = _fetch_verdict(pod, statuses.get("fetch"))
        if verdict:
            return verdict
    return Condition("WeightsVerified", "Unknown", "Fetching", "the source was not verified yet")


def _fetch_verdict(pod: Object, fetch: Mapping[str, Any] | None) -> Condition | None:
    """Return what fetch said in its termination message; while it runs again, what it said last."""
    ended = _last_end(fetch)
    if ended is None:
        return None
    told = _told(ended.get("message", ""))
    if ended.get("exitCode") == 0:
        return Condition("WeightsVerified", "True", "Verified", told.get("message") or "every byte has its hash")
    message = told.get("message") or f"fetch ended with exit code {ended.get('exitCode')}: {ended.get('message', '')}"
    return Condition(
        "WeightsVerified", "False", told.get("reason") or "FetchFailed", f"pod {pod['metadata']['name']}: {message}"
    )


def _failed_stage(pod: Object, stage: Mapping[str, Any] | None) -> tuple[str, str] | None:
    ended = _last_end(stage)
    if ended is None or ended.get("exitCode") == 0:
        return None
    said = (ended.get("message") or "").strip() or f"exit code {ended.get('exitCode')}"
    return "SourceNotFound", f"pod {pod['metadata']['name']}: the folder of model.source can't be copied: {said}"


def _loaded(pods: Iterable[Object]) -> Condition:
    for pod in pods:
        statuses = _containers(pod, _SERVING)
        stuck = _cannot_start(pod, statuses)
        if stuck:
            return Condition("Loaded", "False", *stuck)
        triton = statuses.get("triton", {})
        if triton.get("ready"):
            return Condition("Loaded", "True", "Loaded", "Triton serves the model")
        for name, status in statuses.items():
            crash = _crash(pod, name, status)
            if crash:
                return crash
        if triton.get("state", {}).get("running"):
            return Condition("Loaded", "Unknown", "Loading", "Triton is loading the model")
    return Condition("Loaded", "Unknown", "Waiting", "Triton has not started yet")


def _crash(pod: Object, container: str, status: Mapping[str, Any]) -> Condition | None:
    ended = _last_end(status)
    if ended is None or status.get("ready"):
        return None
    where = f"pod {pod['metadata']['name']}: {container}"
    if ended.get("reason") == "OOMKilled":
        return Condition("Loaded", "False", "OutOfMemory", f"{where} was killed: raise runtime.resources.limits.memory")
    cause = load_error(ended.get("message") or "") or f"exit code {ended.get('exitCode')}"
    reason = "LoadFailed" if container == "triton" else "GuardFailed"
    return Condition("Loaded", "False", reason, f"{where} ended: {cause}")


def _warmed_up(version: InferenceVersion, loaded: Condition) -> Condition:
    # Triton says it is ready only after each model's warm-up samples ran, so the two turn True together.
    if loaded.status != "True":
        return Condition("WarmedUp", "Unknown", loaded.reason, "waits for Loaded")
    if not version.triton.warmup:
        return Condition("WarmedUp", "True", "NotConfigured", "triton.warmup is off")
    cold = without_warmup(version)
    if cold:
        told = f"no warm-up samples for {', '.join(cold)}: their inputs are not declared, or too large"
        return Condition("WarmedUp", "True", "LeftOut", told)
    return Condition("WarmedUp", "True", "WarmedUp", "the warm-up samples ran")


def _containers(pod: Object, names: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
    status = pod.get("status", {})
    listed = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    return {s["name"]: s for s in listed if s["name"] in names}


def _cannot_start(pod: Object, statuses: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    for name, status in statuses.items():
        waiting = status.get("state", {}).get("waiting") or {}
        reason = _CANNOT_START.get(waiting.get("reason", ""))
        if reason:
            said = waiting.get("message") or waiting["reason"]
            return reason, f"pod {pod['metadata']['name']}: {name}: {status.get('image', '')}: {said}"
    return None


def _last_end(status: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return how the container ended: now, or before the restart that is under way."""
    if not status:
        return None
    ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated")
    return ended if isinstance(ended, Mapping) else None


def _told(message: str) -> dict[str, str]:
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return {k: str(v) for k, v in told.items()} if isinstance(told, dict) else {}
