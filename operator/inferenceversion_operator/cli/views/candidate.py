"""The release under way, as people look at it: where it is, for how long, and what it waits for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from inferenceversion_operator.api.parse import parse_version
from inferenceversion_operator.api.types import Strategy, Traffic
from inferenceversion_operator.cli.views.age import age, seconds_since, span
from inferenceversion_operator.core.gates.scope import Phase

Object = Mapping[str, Any]
_OPERATOR = "-l app.kubernetes.io/name=inferenceversion-operator"
LOOK_FOR_OPERATOR = f"does it run? kubectl get pods -A {_OPERATOR}; kubectl logs -n NAMESPACE {_OPERATOR} --tail=20"
_SLOW_S = 30.0  # a look may take that long


@dataclass(frozen=True, slots=True)
class GateView:
    """What a gate said last; ``value`` and ``bound`` are what was seen and what it is held against."""

    name: str
    verdict: str
    value: str | None = None
    bound: str | None = None
    reason: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateView:
    """Where a release is.

    Attributes:
        step: index of the canary step, from 0; ``steps`` is how many the version's spec has now.
        since: when the phase or step began; None: it has not begun, since ``waiting_since``.
        interval_seconds: time between two looks at the gates, by the spec.
        min_duration_seconds: what the phase or step takes at least, by the spec.
        approval: a person has to say yes in this step, by the spec; ``approval_timeout_seconds`` None: for ever.
    """

    version: str
    phase: str
    weight: int
    name: str | None = None
    step: int | None = None
    steps: int | None = None
    started_at: str | None = None
    waiting_since: str | None = None
    since: str | None = None
    looked_at: str | None = None
    inconclusive_since: str | None = None
    awaiting_approval_since: str | None = None
    interval_seconds: float | None = None
    min_duration_seconds: float | None = None
    min_requests: int | None = None
    approval: bool = False
    approval_timeout_seconds: float | None = None
    on_timeout: str | None = None
    skip_steps: bool = False
    by: str | None = None
    gates: tuple[GateView, ...] = ()


def view_candidate(candidate: Object | None, versions: Iterable[Object]) -> CandidateView | None:
    """Return the candidate of an endpoint's status with what its version's spec says of the step that it is in."""
    if not candidate or not candidate.get("version"):
        return None
    traffic = _traffic(candidate, versions)
    phase, step = str(candidate.get("phase") or Phase.STARTING), candidate.get("step")
    return CandidateView(
        version=candidate["version"],
        name=candidate.get("name"),
        phase=phase,
        weight=int(candidate.get("weight") or 0),
        step=step,
        started_at=candidate.get("startedAt"),
        waiting_since=candidate.get("waitingSince"),
        since=candidate.get("since"),
        looked_at=candidate.get("lookedAt"),
        inconclusive_since=candidate.get("inconclusiveSince"),
        awaiting_approval_since=candidate.get("awaitingApprovalSince"),
        skip_steps=bool(candidate.get("skipSteps")),
        by=candidate.get("by"),
        gates=view_gates(candidate.get("gates")),
        **_by_spec(traffic, phase, step),
    )


def view_gates(gates: Iterable[Object] | None) -> tuple[GateView, ...]:
    """Return gates as a status holds them."""
    return tuple(
        GateView(gate["name"], gate["verdict"], *(gate.get(key) for key in ("value", "bound", "reason", "message")))
        for gate in gates or ()
    )


def place(candidate: CandidateView) -> str:
    """Return where the release is, in words."""
    if candidate.phase == Phase.CANARY:
        step = "" if candidate.step is None else f" step {candidate.step + 1}"
        return f"canary{step}{f' of {candidate.steps}' if candidate.steps else ''}, {candidate.weight} %"
    if candidate.phase == Phase.SHADOW:
        return "shadow, copies of requests"
    return "starting, no requests yet"


def lasting(candidate: CandidateView, now: datetime) -> str:
    """Return how long the release is where it is."""
    return f"for {age(candidate.since or candidate.waiting_since or candidate.started_at, now)}"


def waits_for(candidate: CandidateView, endpoint: str, now: datetime) -> str:
    """Return what has to happen before the release goes on; empty where nothing is known."""
    if candidate.awaiting_approval_since:
        return _approval(candidate, endpoint, now)
    if candidate.since is None:
        return "its pods and the Gateway, before the step counts" if candidate.phase != Phase.STARTING else "its pods"
    unclear = [gate.name for gate in candidate.gates if gate.verdict != "Pass"]
    told = f"gate{'s' * (len(unclear) > 1)} {', '.join(unclear)}" if unclear else ""
    left = (candidate.min_duration_seconds or 0.0) - seconds_since(candidate.since, now)
    if left > 0:
        wait = f"{span(left)} more (it takes {span(candidate.min_duration_seconds or 0.0)} at least)"
        return f"{wait}, and {told}" if told else wait
    if candidate.inconclusive_since:
        return f"{told}, unclear for {age(candidate.inconclusive_since, now)}"
    return told or "the next look at its gates"


def unseen_for(candidate: CandidateView, now: datetime) -> str | None:
    """Return how long nobody has looked at the gates, where that is longer than a slow Prometheus explains."""
    if candidate.looked_at is None or candidate.since is None or candidate.interval_seconds is None:
        return None
    late = seconds_since(candidate.looked_at, now) > 3 * candidate.interval_seconds + _SLOW_S
    return age(candidate.looked_at, now) if late else None


def _approval(candidate: CandidateView, endpoint: str, now: datetime) -> str:
    says = f"a yes: kubectl iv promote {endpoint} {candidate.version}"
    waited = seconds_since(candidate.awaiting_approval_since, now)
    if candidate.approval_timeout_seconds is None:
        return f"{says} (for {span(waited)})"
    return f"{says} ({span(max(0.0, candidate.approval_timeout_seconds - waited))} left, then: {candidate.on_timeout})"


def _traffic(candidate: Object, versions: Iterable[Object]) -> Traffic | None:
    for version in versions:
        spec = version.get("spec") or {}
        if spec.get("version") == candidate["version"] and candidate.get("name", "") in (
            "",
            version["metadata"]["name"],
        ):
            try:
                return parse_version(version).traffic
            except (KeyError, TypeError, ValueError):  # an older or newer schema let it in
                return None
    return None


def _by_spec(traffic: Traffic | None, phase: str, step: int | None) -> dict[str, Any]:
    if traffic is None:
        return {}
    steps = traffic.canary.steps if traffic.strategy in (Strategy.CANARY, Strategy.SHADOW_THEN_CANARY) else ()
    told: dict[str, Any] = {"steps": len(steps) or None, "interval_seconds": traffic.interval_s}
    if phase == Phase.SHADOW:
        shadow = traffic.shadow
        return {**told, "min_duration_seconds": shadow.min_duration_s, "min_requests": shadow.min_requests}
    if phase != Phase.CANARY or step is None or not 0 <= step < len(steps):
        return told
    now = steps[step]
    told |= {"min_duration_seconds": now.min_duration_s, "min_requests": now.min_requests}
    if now.approval:
        told |= {"approval": True, "approval_timeout_seconds": now.approval.timeout_s}
        told |= {"on_timeout": now.approval.on_timeout}
    return told
