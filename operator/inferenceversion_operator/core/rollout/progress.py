"""Through the stages of a release: begin one, look at its gates, go on, hold or give up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from inferenceversion_operator.api.action import Action, Verb
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.conditions import parse_timestamp, timestamp
from inferenceversion_operator.core.gates.answers import Measured, Unanswered
from inferenceversion_operator.core.gates.looks import judge, questions
from inferenceversion_operator.core.gates.scope import Phase, Scope
from inferenceversion_operator.core.gates.verdict import Finding, Verdict
from inferenceversion_operator.core.rollout.attempt import Attempt
from inferenceversion_operator.core.rollout.gateway import not_taken
from inferenceversion_operator.core.rollout.release import Ended, Outcome, Release
from inferenceversion_operator.core.rollout.stages import Stage, place_of
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.outcome import Stalled

_FRESH = timedelta(minutes=1)  # beyond an interval: what passed before whatever kept answers away is asked again
_SHORTEST_INTERVAL_S = 1.0  # statuses hold whole seconds, and Prometheus serves others, too


@dataclass(frozen=True, slots=True)
class _Way:
    """What a step of the way is decided upon."""

    seen: Snapshot
    now: datetime
    stable: InferenceVersion
    attempt: Attempt
    stages: tuple[Stage, ...]
    place: int
    action: Action | None
    hold: str  # why it goes on no further; empty: it may

    @property
    def stage(self) -> Stage:
        return self.stages[self.place]


def advance(
    seen: Snapshot,
    stable: InferenceVersion,
    attempt: Attempt,
    stages: tuple[Stage, ...],
    action: Action | None,
    now: datetime,
    hold: str = "",
) -> Release:
    """Return the release after this look; its candidate is ready for the stage that it is in.

    Args:
        hold: why it must not go on to the next stage; empty: it may.
    """
    place = place_of(stages, attempt.phase, attempt.step)
    if place is None:
        return _enter_first(seen, stable, attempt, stages, now)
    stage = stages[place]
    weight = stage.weight
    if _was_changed(attempt, stage):
        if not hold or stage.weight <= attempt.weight:
            return _enter(stable, attempt, stage, now)
        weight = attempt.weight  # on hold, nobody gets more requests
    promote = action if action and action.verb is Verb.PROMOTE and action.step in (None, stage.step) else None
    way = _Way(seen, now, stable, replace(attempt, weight=weight), stages, place, promote, hold)
    if attempt.since is None:
        return _begin(way)
    return _look(way, parse_timestamp(attempt.since))


def _was_changed(attempt: Attempt, stage: Stage) -> bool:
    """Say whether ``traffic`` was changed meanwhile; what was counted at another weight says nothing of this one."""
    other_weight = attempt.since is not None and attempt.weight != stage.weight
    return other_weight or (attempt.phase, attempt.step) != (stage.phase, stage.step)


def _enter_first(
    seen: Snapshot, stable: InferenceVersion, attempt: Attempt, stages: tuple[Stage, ...], now: datetime
) -> Release:
    """Begin, once Prometheus was seen to understand what the gates will ask it."""
    scope = _scope(stable, attempt, stages[0], now)
    asked_for = _subject(attempt, "check")
    measured = seen.measured
    release = Release(stable, attempt, waits_for="Prometheus is asked whether it understands the gates")
    if measured is None or measured.asked_for != asked_for:
        return _ask(release, scope, now, asked_for)
    problem = next((a for _, a in sorted(measured.answers.items()) if isinstance(a, Unanswered)), None)
    if problem is None:
        return _enter(stable, attempt, stages[0], now)
    told = _told_by_gate(problem, judge(scope, measured.answers))
    until = f"no request goes to version {attempt.candidate.version} until this is clear"
    stalled = Stalled(problem.reason, f"{told}; {until}")
    due = measured.at + _interval(attempt)
    release = replace(release, stalled=stalled, waits_for=told)
    return _ask(release, scope, now, asked_for) if now >= due else replace(release, recheck_at=due)


def _enter(stable: InferenceVersion, attempt: Attempt, stage: Stage, now: datetime) -> Release:
    waits_for = f"version {attempt.candidate.version} enters its {_what(stage)}"
    return Release(stable, attempt.enter(stage, now), entered=True, waits_for=waits_for)


def _what(stage: Stage) -> str:
    return "shadow" if stage.phase is Phase.SHADOW else f"step of {stage.weight} %"


def _told_by_gate(problem: Unanswered, findings: Iterable[Finding]) -> str:
    """Name the gate whose query it is, where the query is the problem."""
    asked = [finding.name for finding in findings if finding.reason == problem.reason == "BadQuery"]
    return f"gate {', '.join(asked)}: {problem.message}" if asked else problem.message


def _ask(release: Release, scope: Scope, now: datetime, subject: str) -> Release:
    """Let the gates' questions be asked; the answers bring the endpoint back here."""
    return replace(release, questions=questions(scope, now), asked_for=subject)


def _begin(way: _Way) -> Release:
    """Count from the moment on at which the Gateway had taken the route."""
    reason = not_taken(way.seen, way.stable, way.attempt)
    if reason:
        return _not_begun(way, reason)
    begun = way.attempt.begin(way.now)
    return _look(replace(way, attempt=begun), way.now)


def _not_begun(way: _Way, reason: str) -> Release:
    """Wait; what is not there after as long as pods may take is told as what a person should look at."""
    patience_s = way.seen.settings.ready_deadline_s
    waits = Release(way.stable, way.attempt, waits_for=reason)
    if way.attempt.waiting_since is None:
        return waits
    due = parse_timestamp(way.attempt.waiting_since) + timedelta(seconds=patience_s)
    if way.now < due:
        return replace(waits, recheck_at=due)
    told = f"version {way.attempt.candidate.version} can't begin its {_what(way.stage)}, for {patience_s:g} s: {reason}"
    return replace(waits, stalled=Stalled("StepNotBegun", f"{told}; it goes on by itself when that passes"))


def _look(way: _Way, since: datetime) -> Release:
    measured = _about(way.seen.measured, _subject(way.attempt))
    scope = _scope(way.stable, way.attempt, way.stage, since)
    over = since + timedelta(seconds=way.stage.min_duration_s)
    if measured:
        findings = judge(scope, measured.answers)
        attempt = _count_inconclusive(way.attempt.look(findings, measured.at), findings, way.now, over)
        way = replace(way, attempt=attempt)
        failed = [finding for finding in findings if finding.verdict is Verdict.FAIL]
        if failed:
            return _fail(way, failed)
        passed = all(finding.verdict is Verdict.PASS for finding in findings)
        if passed and measured.at >= over and way.now - measured.at <= _interval(way.attempt) + _FRESH:
            return _passed(way)
    if way.action:
        return _next(way)
    due = _next_look(way, since, over)
    held = Release(way.stable, way.attempt, waits_for=_waits_for(way, over), stalled=_stalled(way))
    if way.now >= due:
        return _ask(held, scope, way.now, _subject(way.attempt))
    return replace(held, recheck_at=due)


def _passed(way: _Way) -> Release:
    """Every gate says Pass, over the whole stage."""
    if way.action:
        return _next(way)
    if way.stage.approval:
        return _await_approval(way)
    if way.hold:
        return _look_again(way, f"{_where(way)}: every gate passes; {way.hold}")
    return _next(way)


def _await_approval(way: _Way) -> Release:
    awaiting = way.attempt.awaiting_since or timestamp(way.now)
    way = replace(way, attempt=replace(way.attempt, awaiting_since=awaiting))
    approval = way.stage.approval
    version, endpoint = way.attempt.candidate.version, way.seen.name
    says = f"{_where(way)}: every gate passes; waits for kubectl iv promote {endpoint} {version}"
    if approval is None or approval.timeout_s is None:
        return _look_again(way, says)
    until = parse_timestamp(awaiting) + timedelta(seconds=approval.timeout_s)
    if way.now < until:
        return _look_again(way, f"{says} until {timestamp(until)}, then: {approval.on_timeout}", until)
    if approval.on_timeout == "Promote":
        return _look_again(way, f"{_where(way)}: nobody refused; {way.hold}") if way.hold else _next(way)
    message = f"{_place(way)}: nobody approved within {approval.timeout_s:g} s"
    return _give_up(way, "NotApproved", message)


def _look_again(way: _Way, waits_for: str, until: datetime | None = None) -> Release:
    """Hold, and go on looking: a gate that fails meanwhile still gives all requests back."""
    held = Release(way.stable, way.attempt, waits_for=waits_for)
    looked = parse_timestamp(way.attempt.looked_at) if way.attempt.looked_at else way.now
    due = looked + _interval(way.attempt)
    if way.now >= due:
        since = parse_timestamp(way.attempt.since) if way.attempt.since else way.now
        scope = _scope(way.stable, way.attempt, way.stage, since)
        return _ask(held, scope, way.now, _subject(way.attempt))
    return replace(held, recheck_at=min(due, until) if until else due)


def _next(way: _Way) -> Release:
    by = way.action.by if way.action else None
    attempt = replace(way.attempt, by=by) if by else way.attempt
    if way.place + 1 < len(way.stages):
        return _enter(way.stable, attempt, way.stages[way.place + 1], way.now)
    how = f"by {by or 'hand'}" if way.action else "every gate of every step passed"
    reason = "PromotedByHand" if way.action else "GatesPassed"
    message = f"serves all traffic instead of {way.stable.version}: {how}"
    ended = Ended(attempt.candidate, Outcome.PROMOTED, reason, message, attempt, by)
    return Release(stable=attempt.candidate, ended=(ended,))


def _fail(way: _Way, failed: Iterable[Finding]) -> Release:
    told = "; ".join(f"gate {finding.name}: {finding.message}" for finding in failed)
    return _give_up(way, "GateFailed", f"{_place(way)}: {told}")


def _give_up(way: _Way, reason: str, message: str) -> Release:
    return Release(way.stable, ended=(Ended(way.attempt.candidate, Outcome.FAILED, reason, message, way.attempt),))


def _count_inconclusive(attempt: Attempt, findings: Iterable[Finding], now: datetime, over: datetime) -> Attempt:
    """Remember since when there is too little to say; before a stage's minimum duration that is nothing unusual."""
    unclear = any(finding.verdict is Verdict.INCONCLUSIVE for finding in findings)
    since = attempt.inconclusive_since or timestamp(now) if unclear and now >= over else None
    return replace(attempt, inconclusive_since=since)


def _stalled(way: _Way) -> Stalled | None:
    traffic = way.attempt.candidate.traffic
    if way.attempt.inconclusive_since is None:
        return None
    unclear_s = (way.now - parse_timestamp(way.attempt.inconclusive_since)).total_seconds()
    if unclear_s < _interval(way.attempt).total_seconds() * traffic.max_inconclusive:  # no sum: no year is that late
        return None
    return Stalled(
        "GatesInconclusive",
        f"{_where(way)}: {_names_of_unclear(way.attempt.gates)} for {traffic.max_inconclusive} intervals; it goes on "
        f"by itself when that is clear; kubectl iv status {way.seen.name} says why, promote or abort decides at once",
    )


def _waits_for(way: _Way, over: datetime) -> str:
    if way.now < over:
        return f"{_where(way)} until {timestamp(over)} at least"
    return f"{_where(way)}: {_unclear(way.attempt.gates)}"


def _names_of_unclear(gates: Iterable[Mapping[str, Any]]) -> str:
    """Return which gates hold it; why is beside each in the status, and too long to be said in every condition."""
    names = [str(gate["name"]) for gate in gates if gate["verdict"] == Verdict.INCONCLUSIVE]
    return f"gate {', '.join(names)} not clear" if names else "the gates had no answer"


def _unclear(gates: Iterable[Mapping[str, Any]]) -> str:
    told = [f"gate {g['name']}: {g.get('message', '')}" for g in gates if g["verdict"] == Verdict.INCONCLUSIVE]
    return "; ".join(told) or "its gates are being asked"


def _where(way: _Way) -> str:
    has = "is" if way.stage.phase is Phase.SHADOW else "has"
    return f"version {way.attempt.candidate.version} {has} {_place(way).removeprefix('at ')}"


def _place(way: _Way) -> str:
    """Return where the release is, or was when it ended."""
    if way.stage.phase is Phase.SHADOW:
        return "in the shadow"
    steps = sum(stage.phase is Phase.CANARY for stage in way.stages)
    return f"at {way.stage.weight} % (step {(way.stage.step or 0) + 1} of {steps})"


def _next_look(way: _Way, since: datetime, over: datetime) -> datetime:
    """Return when the gates are due: each interval, and when the minimum duration is over."""
    interval = _interval(way.attempt)
    if way.attempt.looked_at is None:
        return min(since + interval, over)
    looked = parse_timestamp(way.attempt.looked_at)
    return min(looked + interval, over) if looked < over else looked + interval


def _interval(attempt: Attempt) -> timedelta:
    return timedelta(seconds=max(attempt.candidate.traffic.interval_s, _SHORTEST_INTERVAL_S))


def _scope(stable: InferenceVersion, attempt: Attempt, stage: Stage, since: datetime) -> Scope:
    return Scope(attempt.candidate, stable, stage.phase, since, stage.min_requests)


def _subject(attempt: Attempt, what: str = "look") -> str:
    """Return what answers are about: those about another step, or asked before the gates were changed, are void."""
    parts = (attempt.candidate.name, attempt.candidate.generation, attempt.started_at, attempt.phase, attempt.step)
    return "/".join(str(part) for part in (*parts, attempt.since, what))


def _about(measured: Measured | None, subject: str) -> Measured | None:
    return measured if measured and measured.asked_for == subject else None
