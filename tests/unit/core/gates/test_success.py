"""success-rate and client-errors: how requests ended, and against what that is held."""

import math

import pytest

from inferenceversion_operator.api.types import Slo
from inferenceversion_operator.core.gates.answers import Sample
from inferenceversion_operator.core.gates.scope import Phase
from tests.unit.core.gates.given import DOWN, a_scope, ended, say, scraped

RATE = {
    "none": (ended(0), "Inconclusive", "TooFewRequests"),
    "99 of the 100 that the step wants": (ended(99), "Inconclusive", "TooFewRequests"),
    "100, all well": (ended(100), "Pass", "WithinBound"),
    "one of a hundred is no proof": (ended(99, failed=1), "Inconclusive", "NotSureYet"),
    "nor are two": (ended(98, failed=2), "Inconclusive", "NotSureYet"),
    "three are": (ended(97, failed=3), "Fail", "BoundExceeded"),
    "the first three": (ended(0, failed=3), "Fail", "BoundExceeded"),
    "the first one": (ended(0, failed=1), "Inconclusive", "TooFewRequests"),
    "one of a thousand": (ended(999, failed=1), "Pass", "WithinBound"),
    "nothing of class 5 at all": (ended(1000)[:3], "Pass", "WithinBound"),
    "a client's fault is none of the service": (ended(500, refused=500), "Pass", "WithinBound"),
    "answers that broke off": (ended(990, broken={"inference_http": 10}), "Fail", "BoundExceeded"),
    "gRPC: all well": (ended(0, grpc={"0": 1000}), "Pass", "WithinBound"),
    "gRPC: INTERNAL": (ended(0, grpc={"0": 990, "13": 10}), "Fail", "BoundExceeded"),
    "gRPC: INVALID_ARGUMENT and CANCELLED": (ended(0, grpc={"0": 990, "3": 5, "1": 5}), "Pass", "WithinBound"),
    "gRPC: refused for want of memory": (ended(0, grpc={"0": 990}, no_memory=10), "Fail", "BoundExceeded"),
    "gRPC: broke off": (ended(0, grpc={"0": 990}, broken={"inference_grpc": 10}), "Fail", "BoundExceeded"),
    "ten million": (ended(10_000_000, failed=12_000), "Fail", "BoundExceeded"),
    "Prometheus is down": (DOWN, "Inconclusive", "Unreachable"),
    "nothing there": ((), "Inconclusive", "NoData"),
    "NaN": ((Sample(math.nan, {"of": "ended"}),), "Inconclusive", "NotANumber"),
    "not asked": (None, "Inconclusive", "NotAsked"),
}


@pytest.mark.parametrize(("answer", "verdict", "reason"), RATE.values(), ids=RATE)
@pytest.mark.parametrize("phase", [Phase.SHADOW, Phase.CANARY])
def test_success_rate(answer, verdict, reason, phase):
    found = say(a_scope(phase), answers=answer)["success-rate"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


@pytest.mark.parametrize("code", range(1, 17))
def test_which_statuses_of_grpc_are_whose_fault(code):
    failed = {2, 4, 12, 13, 14, 15}
    found = say(a_scope(), answers=ended(grpc={"0": 900, str(code): 100}))
    assert found["success-rate"].value == ("0.9" if code in failed else "1")
    assert found["client-errors"].value == ("0" if code in failed | {1} else "0.1")


def test_the_messages_have_numbers_and_say_what_failed():
    found = say(a_scope(), answers=ended(400, failed=9, grpc={"0": 0, "14": 3}))
    assert found["success-rate"].message == (
        "2.91 % of 412 requests failed (5xx: 9, gRPC status 14: 3), at most 0.1 % may (slo.errorRate)"
    )
    assert (found["success-rate"].value, found["success-rate"].bound) == ("0.970873786", ">= 0.999")
    few = say(a_scope(), answers=ended(30))["success-rate"]
    assert few.message == (
        "0 % of 30 requests failed, at most 0.1 % may (slo.errorRate); it takes 100 requests to tell"
    )


def test_the_messages_before_there_is_a_request():
    found = say(a_scope(), answers=ended())
    assert (
        found["success-rate"].message == "no request was answered since the step began; it takes 100 requests to tell"
    )
    assert (found["success-rate"].value, found["client-errors"].value) == (None, None)
    assert found["client-errors"].message == found["success-rate"].message


def test_no_error_at_all_may_be_the_objective():
    scope = a_scope(slo=Slo(error_rate=0.0))
    assert say(scope, answers=ended(100))["success-rate"].verdict.value == "Pass"
    assert say(scope, answers=ended(100, failed=1))["success-rate"].verdict.value == "Fail"


# without slo.errorRate: candidate, stable in the step, stable before
BESIDE = {
    "both are well": (ended(100), ended(900), (), "Pass", "WithinBound"),
    "both fail, as when something they need is down": (ended(70, failed=30), ended(700, failed=300), (), "Pass", "WithinBound"),
    "the candidate fails": (ended(90, failed=10), ended(900), (), "Fail", "BoundExceeded"),
    "one more of a hundred may": (ended(99, failed=1), ended(900), (), "Pass", "WithinBound"),
    "stable has few, and had many": (ended(9000, failed=900), ended(9), ended(9000), "Fail", "BoundExceeded"),
    "stable failed before as well": (ended(9000, failed=900), ended(9), ended(9000, failed=1000), "Pass", "WithinBound"),
    "no baseline, and well": (ended(100), ended(9), (), "Pass", "WithinBound"),
    "no baseline, and failing": (ended(50, failed=50), (), (), "Fail", "BoundExceeded"),
    "a baseline of twenty proves little": (ended(90, failed=10), ended(20), (), "Inconclusive", "NotSureYet"),
    "Prometheus is down": (ended(100), DOWN, (), "Inconclusive", "Unreachable"),
    "Prometheus is down where it matters": (ended(100), ended(9), DOWN, "Inconclusive", "Unreachable"),
}  # fmt: skip


@pytest.mark.parametrize(("candidate", "stable", "before", "verdict", "reason"), BESIDE.values(), ids=BESIDE)
def test_success_rate_beside_stable(candidate, stable, before, verdict, reason):
    scope = a_scope(slo=Slo())
    found = say(scope, answers=candidate, stable_answers=stable, stable_answers_earlier=before)["success-rate"]
    assert (found.verdict.value, found.reason) == (verdict, reason)
    assert "slo.errorRate is not set" in found.message or verdict == "Inconclusive"


REJECTED = {
    "nobody": (ended(100), ended(900), "Pass", "WithinBound"),
    "as many as at stable": (ended(90, refused=10), ended(900, refused=100), "Pass", "WithinBound"),
    "an input was renamed": (ended(0, refused=100), ended(900), "Fail", "BoundExceeded"),
    "by gRPC": (ended(0, grpc={"3": 100}), ended(900), "Fail", "BoundExceeded"),
    "no baseline, few": (ended(99, refused=1), ended(9), "Pass", "WithinBound"),
    "no baseline, all: nobody knows whose fault it is": (ended(0, refused=100), ended(9), "Inconclusive", "NotSureYet"),
    "too few": (ended(9, refused=1), ended(900), "Inconclusive", "TooFewRequests"),
    "Prometheus is down": (DOWN, ended(900), "Inconclusive", "Unreachable"),
    "or for stable": (ended(100), DOWN, "Inconclusive", "Unreachable"),
}


@pytest.mark.parametrize(("candidate", "stable", "verdict", "reason"), REJECTED.values(), ids=REJECTED)
def test_client_errors(candidate, stable, verdict, reason):
    found = say(a_scope(), answers=candidate, stable_answers=stable, stable_answers_earlier=ended())["client-errors"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


def test_the_message_of_client_errors():
    found = say(a_scope(), answers=ended(88, refused=12), stable_answers=ended(3900, refused=12))["client-errors"]
    assert found.message == (
        "12 % of 100 requests were refused as the client's fault (4xx, or a gRPC status of that kind), "
        "stable 2.4.0 had 0.307 % of 3,912 and 1.31 % is allowed"
    )


def test_errors_count_whether_all_pods_are_seen_or_not():
    unseen = {"scraped": scraped(sources=1)}
    scope = a_scope(pods=2)
    held = say(scope, **unseen)["success-rate"]
    assert (held.verdict.value, held.reason) == ("Inconclusive", "PodNotScraped")
    assert held.message == (
        "0 % of 1,000 requests failed, at most 0.1 % may (slo.errorRate); that does not count, because Prometheus "
        "scrapes 1 of the 2 ready pods of version 2.4.1: it needs a target for the port guard-metrics (path "
        "/stats/prometheus) of each"
    )
    assert say(scope, answers=ended(50, failed=50), **unseen)["success-rate"].verdict.value == "Fail"
