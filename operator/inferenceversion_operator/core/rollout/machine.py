"""Which version serves, which one is on its way, and what it needs to go on: the same snapshot, the same answer."""

from dataclasses import replace
from datetime import datetime, timedelta

from inferenceversion_operator.api.action import Action, Verb, parse_action
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion, Role
from inferenceversion_operator.core.conditions import find, parse_timestamp, timestamp
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.health import why_not_ready
from inferenceversion_operator.core.objects.route import has_gateway
from inferenceversion_operator.core.rollout import attempt as attempts
from inferenceversion_operator.core.rollout.attempt import Attempt
from inferenceversion_operator.core.rollout.choose import choose_version, has_failed, served_before
from inferenceversion_operator.core.rollout.obstacles import held_back
from inferenceversion_operator.core.rollout.progress import advance
from inferenceversion_operator.core.rollout.readiness import can_carry, down_since, is_ready, replicas_needed
from inferenceversion_operator.core.rollout.release import Ended, Outcome, Release
from inferenceversion_operator.core.rollout.stages import Stage, place_of, stages_of
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.outcome import Stalled

# A candidate that falls over whenever it gets requests takes its errors along: each new beginning forgets them.
_LOSSES, _LOSSES_WITHIN = 5, timedelta(hours=1)


def next_release(seen: Snapshot, now: datetime) -> Release:
    """Decide what becomes of the release under way, or whether one begins."""
    stable = current_stable(seen)
    action = pending_action(seen.endpoint)
    release = _next_release(seen, stable, action, now)
    release = replace(release, observed_action=_observed(seen, release, action))
    release = _look_again_when_broken(seen, release, now)
    if stable and release.promoted is None and seen.endpoint and not seen.endpoint.status.get("stable"):
        # Found by its own status: the endpoint's history doesn't tell of its promotion.
        found = Ended(stable, Outcome.PROMOTED, "Found", "serves already")
        return replace(release, ended=(found, *release.ended))
    return release


def _look_again_when_broken(seen: Snapshot, release: Release, now: datetime) -> Release:
    """Come back when stable counts as broken, if a release is under way that this sets free."""
    since = down_since(seen, release.stable, now) if release.stable and release.attempt else None
    if since is None:
        return release
    due = since + timedelta(seconds=seen.settings.stable_grace_s)
    moments = [moment for moment in (release.recheck_at, due if due > now else None) if moment]
    return replace(release, recheck_at=min(moments, default=None))


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


def pending_action(endpoint: InferenceEndpoint | None) -> Action | None:
    """Return what somebody asked for and nobody has looked at yet."""
    if endpoint is None or not endpoint.action or endpoint.action == endpoint.status.get("observedAction"):
        return None
    return parse_action(endpoint.action)


def _next_release(seen: Snapshot, stable: InferenceVersion | None, action: Action | None, now: datetime) -> Release:
    try:
        wanted = choose_version(seen)
    except Stalled as stalled:
        return replace(_stay(seen, stable, action, now), stalled=stalled)
    left = _left_behind(seen, wanted, now)
    if wanted is None or (stable and wanted.name == stable.name):
        return Release(stable=stable, ended=left)
    action = action if action and action.version == wanted.version else None
    under_way = attempts.resume(seen.endpoint, wanted, now)
    if under_way and stable and action and action.verb is Verb.ABORT:
        return Release(stable=stable, ended=(_aborted(under_way, action), *left))
    begun = under_way or attempts.start(wanted, now)
    if action and action.skip_steps:
        begun = replace(begun, skip_steps=True, by=action.by)
    stages = _stages_ahead(seen, stable, begun, now)
    held = held_back(seen, stable, begun, stages)
    if held:
        release = _keep(seen, stable, under_way, stages, now)
        return replace(release, stalled=held, held=wanted, ended=(*release.ended, *left))
    if _on_hold(seen, wanted) and not begun.skip_steps:
        if under_way is None:
            return Release(stable=stable, held=wanted, ended=left)
        release = _hold(seen, stable, under_way, action, now)
    else:
        release = _go_on(seen, stable, begun, stages, action, now)
    return replace(release, ended=(*release.ended, *left))


def _go_on(
    seen: Snapshot,
    stable: InferenceVersion | None,
    begun: Attempt,
    stages: tuple[Stage, ...],
    action: Action | None,
    now: datetime,
) -> Release:
    place = place_of(stages, begun.phase, begun.step)
    if not _has_pods_for(seen, begun, stages[place] if place is not None else None):
        return _wait_for_pods(seen, stable, begun, now)
    if stable is None or not stages:
        return _promote(stable, begun, _reason_at_once(seen, stable, begun, now))
    return advance(seen, stable, begun, stages, action, now)


def _keep(
    seen: Snapshot,
    stable: InferenceVersion | None,
    under_way: Attempt | None,
    stages: tuple[Stage, ...],
    now: datetime,
) -> Release:
    """Leave a release where it is; a candidate that loses its pods loses its share all the same."""
    place = place_of(stages, under_way.phase, under_way.step) if under_way else None
    if under_way is None or place is None:
        return Release(stable=stable, attempt=under_way)
    if not has_gateway(seen):  # no route leads to it any more
        return Release(stable=stable, attempt=under_way.wait(0, now))
    if _has_pods_for(seen, under_way, stages[place]):
        return Release(stable=stable, attempt=under_way)
    return _wait_for_pods(seen, stable, under_way, now)


def _has_pods_for(seen: Snapshot, begun: Attempt, stage: Stage | None) -> bool:
    """Say whether the candidate has all its pods, or enough for a stage that began: a replaced one ends nothing."""
    if stage and begun.since is not None and can_carry(seen, begun.candidate, stage.weight):
        return True
    return is_ready(seen, begun.candidate)


def _last_candidate(seen: Snapshot) -> InferenceVersion | None:
    """Return the version that the endpoint's status has on its way, while it exists."""
    told = (seen.endpoint.status.get("candidate") if seen.endpoint else None) or {}
    return seen.version(told.get("version"))


def _stages_ahead(seen: Snapshot, stable: InferenceVersion | None, begun: Attempt, now: datetime) -> tuple[Stage, ...]:
    """Return what the candidate has to go through: nothing, where it can't be compared or was compared before."""
    if stable is None or begun.skip_steps or _served_before(seen, begun.candidate) or _is_broken(seen, stable, now):
        return ()
    return stages_of(begun.candidate)


def _is_broken(seen: Snapshot, stable: InferenceVersion, now: datetime) -> bool:
    """Say whether stable is nothing to compare with and nothing to protect; a pod that is moved does not make it so."""
    since = down_since(seen, stable, now)
    return since is not None and now >= since + timedelta(seconds=seen.settings.stable_grace_s)


def _reason_at_once(seen: Snapshot, stable: InferenceVersion | None, begun: Attempt, now: datetime) -> tuple[str, str]:
    if stable is None:
        gone = seen.endpoint.status.get("stable") if seen.endpoint else None
        return ("StableGone", f"version {gone} is gone") if gone else ("FirstVersion", "nothing served before")
    if begun.skip_steps:
        return "StepsSkipped", f"the steps were skipped{_by(begun.by)}"
    if _served_before(seen, begun.candidate):
        return "ServedBefore", "was stable before, so it goes through no steps"
    if _is_broken(seen, stable, now) and stages_of(begun.candidate):
        return "StableBroken", f"version {stable.version} has no ready pod, so there is nothing to compare with"
    return "Ready", "is ready"


def _promote(stable: InferenceVersion | None, begun: Attempt, why: tuple[str, str]) -> Release:
    instead = f" instead of {stable.version}" if stable else ""
    message = f"serves all traffic{instead}: {why[1]}"
    ended = Ended(begun.candidate, Outcome.PROMOTED, why[0], message, begun, begun.by)
    return Release(stable=begun.candidate, ended=(ended,))


def _stay(seen: Snapshot, stable: InferenceVersion | None, action: Action | None, now: datetime) -> Release:
    """Leave all as it is while nobody can say what is wanted: only a gate that fails or a person ends a release."""
    candidate = _last_candidate(seen)
    under_way = attempts.resume(seen.endpoint, candidate, now) if candidate and not has_failed(candidate) else None
    if under_way is None:
        return Release(stable=stable, ended=_left_behind(seen, None, now))
    if stable and action and action.verb is Verb.ABORT and action.version == under_way.candidate.version:
        return Release(stable=stable, ended=(_aborted(under_way, action),))
    return _hold(seen, stable, under_way, None, now, why="the pin names no version")


def _observed(seen: Snapshot, release: Release, action: Action | None) -> str | None:
    """Return the wish that was acted on or is about nothing; one about a step that has not begun is kept for then."""
    if seen.endpoint is None:
        return None
    attempt = release.attempt
    before = (seen.endpoint.status.get("candidate") or {}).get("phase", Phase.STARTING)
    acted = release.entered and before != Phase.STARTING
    waits = attempt is not None and attempt.since is None and not acted
    if action and attempt and waits and action.verb is Verb.PROMOTE and action.version == attempt.candidate.version:
        about_it = action.step in (None, attempt.step) or attempt.phase is Phase.STARTING
        if about_it and not action.skip_steps:
            return seen.endpoint.status.get("observedAction")
    return seen.endpoint.action


def _left_behind(seen: Snapshot, wanted: InferenceVersion | None, now: datetime) -> tuple[Ended, ...]:
    """Return the end of a release whose candidate is no longer wanted, or whose own status tells its end already.

    The operator may have been killed between the version's status and the endpoint's.
    """
    before = _last_candidate(seen)
    if before is None or (wanted and wanted.name == before.name):
        return ()
    at = attempts.resume(seen.endpoint, before, now)
    failed = find(before.status.get("conditions"), "Failed") if has_failed(before) else None
    if failed:
        outcome = Outcome.ABORTED if failed["reason"] == Outcome.ABORTED else Outcome.FAILED
        return (Ended(before, outcome, str(failed["reason"]), str(failed["message"]), at),)
    instead = f"{wanted.version} is wanted" if wanted else "it is no longer wanted"
    return (Ended(before, Outcome.SUPERSEDED, "Superseded", instead, at),)


def _aborted(under_way: Attempt, action: Action) -> Ended:
    return Ended(under_way.candidate, Outcome.ABORTED, "Aborted", f"aborted{_by(action.by)}", under_way, action.by)


def _by(who: str | None) -> str:
    return f" by {who}" if who else " by hand"


def _on_hold(seen: Snapshot, wanted: InferenceVersion) -> bool:
    """Say whether spec.paused keeps this version back: everything but a rollback to one that was stable before."""
    endpoint = seen.endpoint
    if endpoint is None or not endpoint.paused:
        return False
    return not (endpoint.pin == wanted.version and _served_before(seen, wanted))


def _hold(
    seen: Snapshot,
    stable: InferenceVersion | None,
    under_way: Attempt,
    action: Action | None,
    now: datetime,
    why: str = "the endpoint is paused",
) -> Release:
    """Stop advancing, not protecting: a stage that began is looked at, and a Fail still gives all traffic back."""
    stages = _stages_ahead(seen, stable, under_way, now)
    place = place_of(stages, under_way.phase, under_way.step)
    if stable is None or place is None:
        return Release(stable=stable, attempt=under_way, waits_for=why)
    if not _has_pods_for(seen, under_way, stages[place]):
        return _wait_for_pods(seen, stable, under_way, now)
    return advance(seen, stable, under_way, stages, action, now, hold=why)


def _wait_for_pods(seen: Snapshot, stable: InferenceVersion | None, begun: Attempt, now: datetime) -> Release:
    """Wait, without live requests; give the candidate up in the end, if something else serves and no pin insists."""
    waiting = begun.wait(0, now)
    if _had_its_pods(begun.candidate):  # whatever was waited for until now, the pods it is since now
        waiting = replace(waiting, waiting_since=timestamp(now))
    why = f"version {begun.candidate.version} is getting ready{why_not_ready(seen, begun.candidate)}"
    release = Release(stable=stable, attempt=waiting, waits_for=why)
    pinned = seen.endpoint is not None and seen.endpoint.pin == begun.candidate.version
    if waiting.waiting_since is None or stable is None or pinned or not is_ready(seen, stable):
        return release
    if begun.since is not None and begun.times_begun(now - _LOSSES_WITHIN) >= _LOSSES:
        again = f"lost its pods {_LOSSES} times within an hour{why_not_ready(seen, begun.candidate)}"
        return Release(stable=stable, ended=(Ended(begun.candidate, Outcome.FAILED, "NotReady", again, begun),))
    deadline = parse_timestamp(waiting.waiting_since) + timedelta(seconds=seen.settings.ready_deadline_s)
    if now < deadline:
        return replace(release, recheck_at=deadline)
    lost = "" if begun.phase is Phase.STARTING else " again"
    failure = f"not Ready{lost} within {seen.settings.ready_deadline_s:g} s{why_not_ready(seen, begun.candidate)}"
    return Release(stable=stable, ended=(Ended(begun.candidate, Outcome.FAILED, "NotReady", failure, begun),))


def _had_its_pods(version: InferenceVersion) -> bool:
    """Say whether the last decision saw all pods of the version."""
    return int(version.status.get("readyReplicas") or 0) >= replicas_needed(version)


def _served_before(seen: Snapshot, version: InferenceVersion) -> bool:
    history = seen.endpoint.status.get("history", ()) if seen.endpoint else ()
    return served_before(history, version)
