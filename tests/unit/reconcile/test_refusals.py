"""What the API server refuses: who is told, what goes on meanwhile, and how often it is asked again."""

import pytest

from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.client import ApiError
from inferenceversion_operator.api.labels import LABEL_NAME
from inferenceversion_operator.core.plan import Plan, Ref, StatusOf
from inferenceversion_operator.core.snapshot import Failure
from inferenceversion_operator.reconcile.apply import apply
from inferenceversion_operator.reconcile.reconciler import Reconciler
from tests.support.builders import SETTINGS

KEY = ("news", "sentiment")


def child(kind, name, selects=None):
    spec = {"selector": {LABEL_NAME: selects}} if selects else {}
    return {"kind": kind, "metadata": {"namespace": "news", "name": name}, "spec": spec}


class Writer:
    """Keeps what was written; refuses what it is told to refuse."""

    def __init__(self, **refusals):
        self.refusals = refusals
        self.written = []

    async def apply(self, obj):
        name = obj["metadata"]["name"]
        if name in self.refusals:
            raise self.refusals[name]
        self.written.append(name)

    async def apply_status(self, _kind, _namespace, name, _status):
        self.written.append(f"{name}/status")

    async def delete(self, _kind, _namespace, name, _uid):
        self.written.append(f"{name}/deleted")


PLAN = Plan(
    capacity=(child("Deployment", "old-1"), child("Deployment", "new-2")),
    version_statuses=(StatusOf(Ref("InferenceVersion", "news", "new"), {}),),
    traffic=(child("Service", "sentiment", selects="old-1"), child("HTTPRoute", "sentiment-route")),
    release=(child("Deployment", "older-0"),),
    prune=(Ref("ConfigMap", "news", "unused"),),
)
INVALID = ApiError(422, "Invalid", "no")


async def test_a_candidate_that_is_refused_takes_nothing_from_the_traffic_of_the_stable_version():
    writer = Writer(**{"new-2": INVALID})
    failure = await apply(PLAN, writer)
    assert failure == Failure("Invalid", "Deployment new-2: no", "new-2", needs_a_person=True)
    assert writer.written == ["old-1", "new/status", "sentiment", "sentiment-route"]


async def test_where_the_stable_version_itself_is_refused_traffic_stays_as_it_was():
    writer = Writer(**{"old-1": INVALID})
    await apply(PLAN, writer)
    assert writer.written == ["new-2", "new/status"]


@pytest.mark.parametrize(
    ("error", "needs_a_person"),
    [
        (INVALID, True),
        (ApiError(400, "BadRequest", "no"), True),
        (ApiError(403, "Forbidden", "no"), True),
        (ApiError(413, "RequestEntityTooLarge", "no"), True),
        (ApiError(401, "Unauthorized", "no"), False),
        (ApiError(409, "Conflict", "no"), False),
        (ApiError(429, "TooManyRequests", "no", retry_after=7), False),
        (ApiError(500, "InternalError", "failed calling webhook"), False),
    ],
)
async def test_whatever_is_refused_the_status_is_written(error, needs_a_person):
    writer = Writer(**{"new-2": error})
    failure = await apply(PLAN, writer)
    assert "new/status" in writer.written
    assert failure.needs_a_person is needs_a_person
    assert failure.retry_after == error.retry_after


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def told(monkeypatch):
    """Run reconciliations of one endpoint whose Deployment is refused, and return what the status was to tell."""
    clock = Clock()
    monkeypatch.setattr("inferenceversion_operator.reconcile.reconciler.time", clock)
    failures = iter(())

    async def refuse(_plan, _writer):
        return next(failures)

    monkeypatch.setattr("inferenceversion_operator.reconcile.reconciler.apply", refuse)
    reconciler = Reconciler(Cache(lambda _key, _kind: None), None, lambda: SETTINGS)
    seen = []
    decide = "inferenceversion_operator.reconcile.reconciler.decide"
    monkeypatch.setattr(decide, lambda snapshot, _now: seen.append(snapshot.failure) or Plan())

    async def run(given, seconds_between):
        nonlocal failures
        failures = iter(given)
        for _ in given:
            await reconciler.reconcile(KEY)
            clock.now += seconds_between
        return [failure and failure.message for failure in seen], reconciler.queue

    return run


def refusal(message, *, for_good=True):
    return Failure("Invalid" if for_good else "InternalError", message, "new-2", needs_a_person=for_good)


async def test_a_refusal_in_other_words_each_time_is_told_as_it_was_first(told):
    messages, _ = await told([refusal(f"error {n}") for n in range(50)], seconds_between=0.01)
    assert set(messages[1:]) == {"error 0"}


async def test_a_refusal_that_is_another_one_is_told_after_a_while(told):
    messages, _ = await told([refusal("quota a"), refusal("quota b"), refusal("quota b")], seconds_between=16)
    assert messages == [None, "quota a", "quota b"]


async def test_what_passes_by_itself_is_told_when_it_does_not_pass(told):
    messages, _ = await told([refusal("webhook", for_good=False)] * 4, seconds_between=1)
    assert messages == [None, None, None, "webhook"]


async def test_a_success_ends_what_is_told(told):
    messages, queue = await told([refusal("quota"), None, None], seconds_between=1)
    assert messages == [None, "quota", None]
    assert queue.failures(KEY) == 0
