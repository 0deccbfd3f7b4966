"""The table of reasons (docs/reference/reasons.yaml) has every reason that the code can say, and no other."""

import pytest

from docs.reference.reasons import rows, spelled_out, words
from tests.support.builders import a_version, an_endpoint
from tests.support.world import World

ROWS = rows()
KNOWN = {reason for row in ROWS for reason in row.reasons}
ADD = "add it to docs/reference/reasons.yaml and run `make docs`"

# Words of the code that are no reasons. A new word is either one, and gets a row, or stands here.
STATUSES = {"True", "False", "Unknown"}
TYPES = {"Routed", "WeightsVerified", "Stalled", "Broken", "Reconciling", "ResolvedRefs", "PodScheduled"}
EVENTS = {"Normal", "Warning"}
KINDS = {
    *("ConfigMap", "Deployment", "EndpointSlice", "GRPCRoute", "HTTPRoute", "InferenceEndpoint", "InferenceVersion"),
    *("Pod", "Service", "RequestMirror", "RegularExpression"),
}
OF_KUBERNETES = {  # that our own reasons are made of
    *("CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff"),
    *("InvalidImageName", "RunContainerError", "OOMKilled", "IfNotPresent", "BadRequest"),
}
OF_PHASES = {"Empty", "Stable"}
OF_SPEC = {"Promote", "Fail"}
VERDICTS = {"Pass", "Fail", "Inconclusive"}
TYPE_HINTS = {"Attempt", "Bin"}
NO_REASONS = STATUSES | TYPES | EVENTS | KINDS | OF_KUBERNETES | OF_PHASES | OF_SPEC | VERDICTS | TYPE_HINTS

# Their reason is that of what they are made of, or what was the reason before.
MADE_OF_OTHERS = {"Ready", "Stalled", "Reconciling", "Broken", "WarmedUp"}


def test_every_word_of_the_code_is_a_reason_with_a_row_or_known_to_be_none():
    new = {word: where for word, where in words().items() if word not in KNOWN | NO_REASONS}
    assert new == {}, f"if it is a reason, {ADD}; else name it in {__file__}"


def test_every_row_is_about_something_that_the_code_says():
    ours = {reason for row in ROWS if row.foreign is None for reason in row.reasons}
    assert sorted(ours - words().keys()) == [], "the code no longer says it: remove the row, or say whose word it is"


def test_no_reason_has_two_rows_for_the_same():
    seen = [(row.of, when, reason) for row in ROWS for when in row.when for reason in row.reasons]
    assert sorted({one for one in seen if seen.count(one) > 1}) == []


@pytest.mark.parametrize("call", sorted(spelled_out("Condition")), ids="-".join)
def test_every_condition_that_is_spelled_out_has_its_row(call):
    kind, status, reason, *_ = (*call, "", "")
    if kind and status and reason:
        assert any(row.fits(kind, status, reason) for row in ROWS), f"{kind} {status} {reason}: {ADD}"


def test_every_event_has_its_row():
    sent = {(kind, reason) for _, kind, reason, *_ in spelled_out("Event") if reason}
    told = {
        (status, reason) for row in ROWS if row.of == "Event" for _, (status,) in row.when for reason in row.reasons
    }
    assert sent - told == set(), ADD
    assert len(sent) >= 4


def test_every_row_says_what_to_do():
    assert [row.reasons for row in ROWS if not (row.means.endswith(".") and row.todo.endswith("."))] == []


def test_what_a_whole_life_writes_into_statuses_has_its_row():
    """The words are right where they are: of this kind, in this condition, with this status."""
    world = Told()
    world.never_ready.add("2.4.0")
    world.apply(a_version("2.4.0"), a_version("2.4.0", name="twice", uid="uid-twice")).settle()
    world.never_ready.clear()
    world.settle()
    world.gateway_works = False
    world.apply(a_version("2.4.1")).settle()
    world.edit_endpoint(pin="9.9.9").settle()
    world.edit_endpoint(pin="2.4.0").settle()
    world.never_ready.add("2.4.0")
    world.settle()
    world.endpoint = an_endpoint(status={})
    world.edit_endpoint(pin=None).settle()
    missing = {one for one in world.told if not _has_row(*one)}
    assert missing == set(), ADD
    assert len(world.told) >= 15


class Told(World):
    """Keeps every condition that was ever written."""

    def __init__(self):
        super().__init__()
        self.told = set()

    def _version_status(self, status):
        self._keep("InferenceVersion", status)
        return super()._version_status(status)

    def _endpoint_status(self, status):
        self._keep("InferenceEndpoint", status)
        return super()._endpoint_status(status)

    def _keep(self, kind, status):
        self.told |= {(kind, c["type"], c["status"], c["reason"]) for c in status.status["conditions"]}


def _has_row(kind, condition, status, reason):
    mine = [row for row in ROWS if row.of == kind]
    if condition in MADE_OF_OTHERS and any(reason in row.reasons for row in mine):
        return True
    return any(row.fits(condition, status, reason) for row in mine)
