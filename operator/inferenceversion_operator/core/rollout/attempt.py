"""The release of one candidate so far: what ``status.candidate`` keeps for the next process to go on with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.conditions import parse_timestamp, timestamp
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.gates.verdict import Finding
from inferenceversion_operator.core.rollout.stages import Stage

_STEPS_LIMIT = 32  # of the CRD


@dataclass(frozen=True, slots=True)
class Attempt:
    """A release under way. All moments are RFC 3339 with whole seconds.

    Attributes:
        waiting_since: since when the stage can't begin: pods or Gateway are not there yet. None once it began.
        since: when the stage began; None before.
        skip_steps: somebody asked for all at once.
        by: who did, as they say.
        gates: what the gates said last, as it is stored.
        steps: the stages so far, as they are stored.
    """

    candidate: InferenceVersion
    started_at: str
    phase: Phase = Phase.STARTING
    step: int | None = None
    weight: int = 0
    waiting_since: str | None = None
    since: str | None = None
    looked_at: str | None = None
    inconclusive_since: str | None = None
    awaiting_since: str | None = None
    skip_steps: bool = False
    by: str | None = None
    gates: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()

    def enter(self, stage: Stage, now: datetime) -> "Attempt":
        """Go to a stage; it begins when pods and Gateway are ready for it."""
        entry = {"phase": stage.phase.value, "weight": stage.weight}
        return replace(
            self,
            phase=stage.phase,
            step=stage.step,
            weight=stage.weight,
            waiting_since=timestamp(now),
            since=None,
            looked_at=None,
            inconclusive_since=None,
            awaiting_since=None,
            gates=(),
            steps=(*self.steps, entry)[-_STEPS_LIMIT:],
        )

    def begin(self, now: datetime) -> "Attempt":
        """Count from now on; a stage that began before is told once more."""
        began = timestamp(now)
        entry = {"phase": self.phase.value, "weight": self.weight, "since": began}
        before = self.steps[:-1] if self.steps and "since" not in self.steps[-1] else self.steps
        return replace(self, waiting_since=None, since=began, steps=(*before, entry)[-_STEPS_LIMIT:])

    def times_begun(self, after: datetime) -> int:
        """Return how often the stage that it is in began in a row since ``after``."""
        in_a_row = takewhile(lambda e: (e["phase"], e["weight"]) == (self.phase, self.weight), reversed(self.steps))
        moments = (_moment(entry.get("since"), datetime.max.replace(tzinfo=UTC)) for entry in in_a_row)
        return sum(moment is not None and parse_timestamp(moment) >= after for moment in moments)

    def wait(self, weight: int, now: datetime) -> "Attempt":
        """Wait for pods or Gateway; what was counted so far counts no more."""
        return replace(
            self,
            weight=weight,
            waiting_since=self.waiting_since or timestamp(now),
            since=None,
            looked_at=None,
            inconclusive_since=None,
            awaiting_since=None,
        )

    def look(self, findings: Iterable[Finding], at: datetime) -> "Attempt":
        """Keep what the gates say."""
        return replace(self, looked_at=timestamp(at), gates=tuple(_stored(finding) for finding in findings))

    def stored(self) -> dict[str, Any]:
        """Return ``status.candidate``."""
        told = {
            "version": self.candidate.version,
            "name": self.candidate.name,
            "phase": self.phase.value,
            "step": self.step,
            "weight": self.weight,
            "startedAt": self.started_at,
            "waitingSince": self.waiting_since,
            "since": self.since,
            "lookedAt": self.looked_at,
            "inconclusiveSince": self.inconclusive_since,
            "awaitingApprovalSince": self.awaiting_since,
            "skipSteps": self.skip_steps or None,
            "by": self.by,
            "gates": [dict(gate) for gate in self.gates] or None,
            "steps": [dict(step) for step in self.steps] or None,
        }
        return {name: value for name, value in told.items() if value is not None}


def start(candidate: InferenceVersion, now: datetime) -> Attempt:
    """Return a release that begins."""
    return Attempt(candidate, started_at=timestamp(now), waiting_since=timestamp(now))


def resume(endpoint: InferenceEndpoint | None, candidate: InferenceVersion, now: datetime) -> Attempt | None:
    """Return the release of this candidate as its status tells of it; None where it tells of none.

    What can't be read or lies in the future is left out: a stage then begins anew, and nothing is promoted for it. A
    version's status is written before the endpoint tells of its release: one that has none was made anew, maybe from
    other parts, and has to begin.
    """
    told = (endpoint.status.get("candidate") if endpoint else None) or {}
    if told.get("version") != candidate.version or "snapshotDigest" not in candidate.status:
        return None
    started = _moment(told.get("startedAt") or told.get("since"), now) or timestamp(now)
    phase = _phase(told.get("phase"))
    since = _moment(told.get("since"), now) if phase is not Phase.STARTING else None
    return Attempt(
        candidate=candidate,
        started_at=started,
        phase=phase,
        step=told.get("step"),
        weight=min(max(int(told.get("weight") or 0), 0), 100),
        waiting_since=None if since else (_moment(told.get("waitingSince"), now) or started),
        since=since,
        looked_at=_moment(told.get("lookedAt"), now),
        inconclusive_since=_moment(told.get("inconclusiveSince"), now),
        awaiting_since=_moment(told.get("awaitingApprovalSince"), now),
        skip_steps=bool(told.get("skipSteps")),
        by=told.get("by"),
        gates=tuple(told.get("gates") or ()),
        steps=tuple(told.get("steps") or ()),
    )


def _phase(text: Any) -> Phase:
    try:
        return Phase(text)
    except ValueError:
        return Phase.STARTING


def _moment(text: Any, now: datetime) -> str | None:
    try:
        return str(text) if text and parse_timestamp(str(text)) <= now else None
    except (ValueError, OverflowError):
        return None


def _stored(finding: Finding) -> dict[str, Any]:
    told = {
        "name": finding.name,
        "verdict": finding.verdict.value,
        "reason": finding.reason,
        "message": finding.message,
        "value": finding.value,
        "bound": finding.bound,
    }
    return {name: value for name, value in told.items() if value is not None}
