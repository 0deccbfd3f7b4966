"""The status of an InferenceEndpoint: what serves, what is coming, what was, and whether the road to it is open."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from inferenceversion_operator.api.names import endpoint_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion, Role
from inferenceversion_operator.core.conditions import Condition, find, merge, timestamp
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.health import observe_health
from inferenceversion_operator.core.objects.route import has_gateway, hostnames, parent_refs
from inferenceversion_operator.core.plan import Ref, StatusOf
from inferenceversion_operator.core.rollout.gateway import told_by_gateways
from inferenceversion_operator.core.rollout.readiness import down_since, is_ready, replicas_needed
from inferenceversion_operator.core.rollout.release import Ended, Outcome, Release
from inferenceversion_operator.core.snapshot import Snapshot

_ACTION_LIMIT, _VERSION_LIMIT, _MESSAGE_LIMIT, _EVIDENCE_LIMIT = 512, 64, 1024, 512
_WITH_EVIDENCE, _HISTORY_LIMIT = 10, 100  # the CRD takes no more


def endpoint_status(seen: Snapshot, endpoint: InferenceEndpoint, release: Release, now: datetime) -> StatusOf:
    """Return the whole status of the endpoint after this decision."""
    status: dict[str, Any] = {"observedGeneration": endpoint.generation, "phase": _phase(seen, release)}
    url = _url(seen, endpoint)
    if url:
        status["url"] = url
    if release.stable:
        status["stable"] = release.stable.version
        down = down_since(seen, release.stable, now)
        if down:
            status["stableDownSince"] = timestamp(down)
    if release.attempt:
        status["candidate"] = release.attempt.stored()
    if release.observed_action:
        status["observedAction"] = release.observed_action[:_ACTION_LIMIT]
    failed_pin = _failed_pin(endpoint, release)
    if failed_pin:
        status["failedPin"] = failed_pin
    status["history"] = next_history(endpoint, release, now)
    conditions = _conditions(seen, endpoint, release)
    status["conditions"] = merge(endpoint.status.get("conditions", ()), conditions, endpoint.generation, now)
    return StatusOf(Ref("InferenceEndpoint", endpoint.namespace, endpoint.name, endpoint.uid), status)


def next_history(endpoint: InferenceEndpoint, release: Release, now: datetime) -> list[Mapping[str, Any]]:
    """Return the outcomes of releases, the newest first, no more than ``retention.history``."""
    history = [dict(entry) for entry in endpoint.status.get("history", ())]
    ended = [_outcome(endpoint, end, now) for end in release.ended]
    return _bounded([*ended, *history], max(1, endpoint.history), endpoint.warm + 1)


def _bounded(history: list[Mapping[str, Any]], most: int, promoted: int) -> list[Mapping[str, Any]]:
    """Return the newest entries, and of the older ones those that say who served last.

    However many releases failed since, a version that is kept warm is one that was stable before. Only the first few
    entries keep their evidence, so that the size of an object has a bound.
    """
    last: dict[str, int] = {}
    for place, entry in enumerate(history):
        if entry.get("outcome") == Outcome.PROMOTED:
            last.setdefault(entry["version"], place)
    kept = set(list(last.values())[:promoted])
    bare = ("gates", "steps")
    return [
        entry if place < _WITH_EVIDENCE else {name: value for name, value in entry.items() if name not in bare}
        for place, entry in enumerate(history)
        if place < most or place in kept
    ][:_HISTORY_LIMIT]


def _failed_pin(endpoint: InferenceEndpoint, release: Release) -> str | None:
    """Return the pinned version whose release failed, until the pin says something else or it serves after all."""
    if endpoint.pin is None or (release.stable and release.stable.version == endpoint.pin):
        return None
    if release.given_up and release.given_up.version.version == endpoint.pin:
        return endpoint.pin
    return endpoint.pin if endpoint.status.get("failedPin") == endpoint.pin and not release.attempt else None


def _outcome(endpoint: InferenceEndpoint, end: Ended, now: datetime) -> dict[str, Any]:
    told = {
        "version": end.version.version,
        "name": end.version.name,
        "digest": end.version.digest,
        "outcome": end.outcome.value,
        "since": end.attempt.started_at if end.attempt else timestamp(now),
        "until": timestamp(now),
        "reason": end.reason,
        "message": end.message[:_MESSAGE_LIMIT],
        "instead": str(endpoint.status.get("stable", ""))[:_VERSION_LIMIT],
        "by": end.by,
        "gates": [_short(gate) for gate in end.attempt.gates] if end.attempt else None,
        "steps": [dict(step) for step in end.attempt.steps] if end.attempt else None,
    }
    return {name: value for name, value in told.items() if value}


def _short(gate: Mapping[str, Any]) -> dict[str, Any]:
    return {**gate, "message": str(gate.get("message", ""))[:_EVIDENCE_LIMIT]}


def _phase(seen: Snapshot, release: Release) -> str:
    if release.stalled:
        return "Stalled"
    if release.stable and not is_ready(seen, release.stable):
        return "Degraded"
    if release.attempt:
        return "Progressing" if release.attempt.phase is Phase.STARTING else release.attempt.phase.value
    return "Stable" if release.stable else "Empty"


def _url(seen: Snapshot, endpoint: InferenceEndpoint) -> str | None:
    if has_gateway(seen):
        return f"http://{hostnames(endpoint, seen.settings)[0]}"
    return f"http://{endpoint_name(endpoint.name)}.{endpoint.namespace}.svc"


def _conditions(seen: Snapshot, endpoint: InferenceEndpoint, release: Release) -> list[Condition]:
    routed = _routed(seen, endpoint)
    stuck = _stuck(seen, endpoint, release)
    if stuck:
        serving = release.stable.version if release.stable else "nothing"
        ready = Condition("Ready", "False", stuck.reason, f"{stuck.message} (serving: {serving})")
        return [routed, ready, stuck]
    if release.candidate or release.stable is None:
        what = release.waits_for if release.candidate else _nothing_serves(release)
        serving = f"; {_serves(seen, release.stable)}" if release.stable else "; nothing serves"
        busy = Condition("Reconciling", "True", "Progressing", what + serving)
        return [routed, Condition("Ready", "False", busy.reason, busy.message), busy]
    if not is_ready(seen, release.stable):
        message = _short_of(seen, release.stable)
        return [
            routed,
            Condition("Ready", "False", "Degraded", message),
            Condition("Reconciling", "True", "Degraded", message),
        ]
    if routed.status != "True":
        busy = Condition("Reconciling", "True", routed.reason, routed.message)
        return [routed, Condition("Ready", "False", routed.reason, routed.message), busy]
    waits = f"; paused: version {release.held.version} waits" if release.held else ""
    message = f"version {release.stable.version} serves all traffic{waits}"
    return [routed, Condition("Ready", "True", "Paused" if release.held else "Serving", message)]


def _nothing_serves(release: Release) -> str:
    return f"paused: version {release.held.version} waits" if release.held else "no version to serve"


def _serves(seen: Snapshot, stable: InferenceVersion) -> str:
    return f"version {stable.version} serves" if is_ready(seen, stable) else _short_of(seen, stable)


def _short_of(seen: Snapshot, stable: InferenceVersion) -> str:
    """Say how many pods are left, why, and the way out that there is."""
    health = observe_health(seen, stable)
    needed = replicas_needed(stable)
    says = [f"version {stable.version}: {health.ready_replicas} of {needed} replicas ready"]
    if health.ready_replicas == 0:
        says.append("requests fail")
    if health.problem:
        says.append(f"{health.problem.reason}: {health.problem.message}")
    warm = [v for v in seen.accepted() if v.status.get("role") == Role.WARM and is_ready(seen, v)]
    if warm:
        says.append(f"version {warm[0].version} is warm: kubectl iv rollback {seen.name} {warm[0].version}")
    return "; ".join(says)


def _stuck(seen: Snapshot, endpoint: InferenceEndpoint, release: Release) -> Condition | None:
    """Return what keeps the endpoint from being as wanted, if it isn't a mere matter of time."""
    if release.stalled:
        return Condition("Stalled", "True", release.stalled.reason, release.stalled.message)
    if seen.failure:
        kind = "Stalled" if seen.failure.needs_a_person else "Reconciling"
        return Condition(kind, "True", seen.failure.reason, seen.failure.message)
    wants_gateway = endpoint.gateway is not None and endpoint.gateway.parent_refs
    if wants_gateway and "HTTPRoute" not in seen.settings.route_kinds:
        message = "spec.gateway names a Gateway, but the cluster has no HTTPRoute: install the Gateway API's CRDs"
        return Condition("Stalled", "True", "GatewayApiMissing", message)
    return None


def _routed(seen: Snapshot, endpoint: InferenceEndpoint) -> Condition:
    if not has_gateway(seen):
        return Condition(
            "Routed", "True", "ServiceOnly", "no Gateway: the endpoint's Service selects the stable version"
        )
    route = seen.find("HTTPRoute", endpoint_name(endpoint.name))
    if route is None:
        return Condition("Routed", "False", "NoRoute", "the HTTPRoute is not there yet")
    parents = told_by_gateways(route)
    for parent in parents:
        name = parent.get("parentRef", {}).get("name")
        for kind in ("Accepted", "ResolvedRefs"):
            told = find(parent.get("conditions"), kind)
            if told and told["status"] == "False":
                return Condition("Routed", "False", told["reason"], f"Gateway {name}: {told['message']}")
    if not parents:
        wanted = ", ".join(str(ref.get("name")) for ref in parent_refs(endpoint, seen.settings))
        return Condition("Routed", "False", "NotAccepted", f"no Gateway has taken the HTTPRoute yet (asked: {wanted})")
    return Condition("Routed", "True", "Accepted", "the Gateway has accepted the HTTPRoute")
