"""Asking for something about the release under way: what may be asked, and what it means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.action import Action, Verb, format_action
from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.views.candidate import CandidateView, place
from inferenceversion_operator.cli.views.status import EndpointView, VersionView, view_endpoint
from inferenceversion_operator.cli.views.wanted import comes_after, wanted_version
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.rollout.choose import once_stable

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        annotation: the value of inferenceversion.io/action.
        notes: what it will do, in sentences.
    """

    endpoint: str
    namespace: str
    verb: str
    version: str
    skip_steps: bool
    stable: str | None
    annotation: str
    notes: tuple[str, ...]
    step: int | None = None  # canary step that it is about, from 0


def plan_promote(
    endpoint: Object, versions: Sequence[Object], wanted: str | None, *, skip_steps: bool, by: str | None, at: str
) -> Wish:
    """Say what promoting means: the end of the step that the candidate is in, or of all of them.

    Args:
        wanted: the version, or the name of its InferenceVersion; None: the candidate.
        by: who asks.
        at: when, RFC 3339.

    Raises:
        UserError: there is nothing to promote; says why and what to do.
    """
    view = view_endpoint(endpoint, versions)
    candidate = view.candidate
    version = _candidate_named(view, wanted)
    if version is None and skip_steps:
        version = _held_named(view, endpoint, versions, wanted)
    if version is None or not (candidate or skip_steps):
        raise _nothing_to(Verb.PROMOTE, view, wanted, endpoint)
    if candidate and not skip_steps:
        _refuse_early(view.name, candidate)
    step = candidate.step if candidate and candidate.phase == Phase.CANARY and not skip_steps else None
    action = Action(Verb.PROMOTE, version, step, skip_steps, by, at)
    notes = _notes_of_skip(view, version) if skip_steps else _notes_of_step(candidate)
    return _wish(view, action, notes)


def plan_abort(endpoint: Object, versions: Sequence[Object], wanted: str | None, *, by: str | None, at: str) -> Wish:
    """Say what aborting means: stable gets all requests back, and what is wanted then.

    Raises:
        UserError: there is nothing to abort; says why and what to do.
    """
    view = view_endpoint(endpoint, versions)
    version = _candidate_named(view, wanted)
    if version is None or view.candidate is None:
        raise _nothing_to(Verb.ABORT, view, wanted, endpoint)
    if view.stable is None:
        name = view.candidate.name or version
        raise UserError(f"no other version serves: there is nothing to go back to (kubectl delete iv {name} ends it)")
    notes = (
        f"the release of {version} ends ({place(view.candidate)}); {view.stable} gets all requests back at once",
        f"version {version} is not tried again by itself: release a new one, or pin it to insist",
        *comes_after(endpoint, versions, version),
    )
    return _wish(view, Action(Verb.ABORT, version, by=by, at=at), notes)


def _wish(view: EndpointView, action: Action, notes: tuple[str, ...]) -> Wish:
    return Wish(
        endpoint=view.name,
        namespace=view.namespace,
        verb=action.verb.value,
        version=action.version,
        step=action.step,
        skip_steps=action.skip_steps,
        stable=view.stable,
        annotation=format_action(action),
        notes=notes,
    )


def _candidate_named(view: EndpointView, wanted: str | None) -> str | None:
    candidate = view.candidate
    if candidate is None or (wanted is not None and wanted not in (candidate.version, candidate.name)):
        return None
    return candidate.version


def _held_named(view: EndpointView, endpoint: Object, versions: Sequence[Object], wanted: str | None) -> str | None:
    """Return the version that is wanted and held back, where it is the one that was named."""
    held = wanted_version(endpoint, versions)
    names = {version.version: version.name for version in view.versions}
    if view.candidate or held is None or held == view.stable or wanted not in (None, held, names.get(held)):
        return None
    return held


def _refuse_early(endpoint: str, candidate: CandidateView) -> None:
    """Refuse to end a step that nobody has seen."""
    if candidate.phase == Phase.STARTING:
        skip = f"kubectl iv promote {endpoint} {candidate.version} --skip-steps"
        raise UserError(
            f"version {candidate.version} is not in a step yet ({place(candidate)}): ask again when it is, or let it "
            f"take over as soon as it is Ready, asking no gate: {skip}"
        )


def _nothing_to(verb: Verb, view: EndpointView, wanted: str | None, endpoint: Object) -> UserError:
    name, found = view.name, _find(view, wanted)
    if view.candidate:
        message = f"the candidate of {name} is {view.candidate.version}, not {wanted}: {verb} that one"
    elif wanted is not None and wanted == view.stable:
        message = f"version {wanted} serves all requests of {name} already"
    elif wanted is not None and found is None:
        known = ", ".join(version.version for version in view.versions) or "none"
        message = f"endpoint {name} has no version {wanted}: there are {known}"
    else:
        history = (endpoint.get("status") or {}).get("history") or ()
        why = f"no release of {name} is under way (stable: {view.stable or 'none'}; {view.reason}: {view.message})"
        message = f"{why}{_way_out(name, found, once_stable(history))}"
    return UserError(message)


def _find(view: EndpointView, wanted: str | None) -> VersionView | None:
    return next((version for version in view.versions if wanted in (version.version, version.name)), None)


def _way_out(endpoint: str, version: VersionView | None, served: Sequence[str]) -> str:
    """Return what to do for the version that was named."""
    if version is None:
        return ""
    if version.role == "Failed":
        insist = f"kubectl iv rollback {endpoint} {version.version} --force insists"
        return f"; version {version.version} failed: {insist}"
    if version.version in served:
        return f"; version {version.version} served before: kubectl iv rollback {endpoint} {version.version}"
    return f"; version {version.version} is {version.held}" if version.held else ""


def _notes_of_step(candidate: CandidateView | None) -> tuple[str, ...]:
    if candidate is None:
        return ()
    last = candidate.steps is not None and candidate.step == candidate.steps - 1
    then = "it gets all requests" if last or not candidate.steps else "the next step begins"
    open_gates = [f"{gate.name} ({gate.verdict})" for gate in candidate.gates if gate.verdict != "Pass"]
    despite = f", whatever its gates say now: {', '.join(open_gates)}" if open_gates else ""
    early = "" if candidate.since else " as soon as it has begun"
    return (f"version {candidate.version}: {place(candidate)} ends{early}{despite}; {then}",)


def _notes_of_skip(view: EndpointView, version: str) -> tuple[str, ...]:
    at = f" ({place(view.candidate)})" if view.candidate else ""
    return (
        f"version {version}{at} gets all requests as soon as it is Ready: no further step, no gate is asked",
        f"back: kubectl iv rollback {view.name} {view.stable}" if view.stable else "no other version serves",
    )
