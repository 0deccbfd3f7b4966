"""What came of a wish: read from the endpoint's status, before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.cli.views.candidate import place
from inferenceversion_operator.cli.views.status import view_endpoint
from inferenceversion_operator.cli.views.wish import Wish

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a wish.

    Attributes:
        what: Promoted, Failed, Aborted or Superseded as in status.history; MovedOn; Waiting: it was heard, and takes
            its time; Nothing: it was heard, and was about nothing.
        message: in a sentence.
    """

    what: str
    message: str

    @property
    def final(self) -> bool:
        return self.what != "Waiting"


def answer_to(wish: Wish, before: Object, after: Object, versions: Sequence[Object] = ()) -> Answer | None:
    """Return what came of a wish; None where the operator has not seen it yet.

    Args:
        before: the endpoint when it was asked.
        after: the endpoint now, with its versions.
    """
    status = after.get("status") or {}
    if status.get("observedAction") != wish.annotation:
        return _kept(wish, status.get("candidate") or {})
    return _ended(wish, before, after) or _went_on(wish, before, after, versions)


def _kept(wish: Wish, candidate: Object) -> Answer | None:
    """Return that the operator keeps the wish for the step that it is about, which has not begun."""
    about_it = candidate.get("version") == wish.version and candidate.get("step") == wish.step
    if wish.verb == "promote" and not wish.skip_steps and about_it and not candidate.get("since"):
        return Answer("Waiting", f"the step of {wish.version} ends as soon as it has begun")
    return None


def _ended(wish: Wish, before: Object, after: Object) -> Answer | None:
    status, old = after["status"], (before.get("status") or {}).get("history") or ()
    for entry in status.get("history") or ():
        if entry.get("version") == wish.version and entry not in old:
            outcome, message = str(entry.get("outcome")), entry.get("message")
            return Answer(outcome, f"version {wish.version}: {outcome}{f': {message}' if message else ''}")
    if status.get("stable") == wish.version:
        return Answer("Promoted", f"version {wish.version} serves all requests")
    return None


def _went_on(wish: Wish, before: Object, after: Object, versions: Sequence[Object]) -> Answer:
    now = _place(after)
    candidate = view_endpoint(after, versions).candidate
    if now is None or candidate is None or now[0] != wish.version:
        return Answer("Nothing", f"the operator saw it, and no release of {wish.version} was under way")
    if wish.skip_steps and candidate.skip_steps:
        return Answer("Waiting", f"version {wish.version} takes over when it is Ready")
    if now != _place(before):
        return Answer("MovedOn", f"version {wish.version} goes on: {place(candidate)}")
    return Answer("Nothing", f"the operator saw it and did nothing: version {wish.version} had moved meanwhile")


def _place(endpoint: Object) -> tuple[str, str, int | None] | None:
    """Return version, phase and step of the candidate."""
    candidate = (endpoint.get("status") or {}).get("candidate") or {}
    if not candidate.get("version"):
        return None
    return candidate["version"], str(candidate.get("phase")), candidate.get("step")
