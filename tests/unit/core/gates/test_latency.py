"""p95 and p99: against the SLO on its exact bucket, and against stable."""

import math

import pytest

from inferenceversion_operator.api.types import Slo
from inferenceversion_operator.core.gates.answers import Sample
from inferenceversion_operator.core.gates.times import Times
from tests.unit.core.gates.given import DOWN, a_scope, say, scraped, took

NO_TIMES = ()

# how many took up to 40 ms and up to 150 ms -> verdict and reason of p95 (80 ms)
P95 = {
    "none": (0, 0, "Inconclusive", "TooFewRequests"),
    "nineteen fast ones": (19, 0, "Inconclusive", "TooFewRequests"),
    "twenty fast ones": (20, 0, "Pass", "WithinBound"),
    "one slow of twenty": (19, 1, "Pass", "WithinBound"),
    "two slow of twenty": (18, 2, "Inconclusive", "NotSureYet"),
    "five slow of twenty": (15, 5, "Fail", "BoundExceeded"),
    "nineteen, all slow: pods are slow when they begin": (0, 19, "Inconclusive", "TooFewRequests"),
    "twenty, all slow": (0, 20, "Fail", "BoundExceeded"),
    "five of a hundred": (95, 5, "Pass", "WithinBound"),
    "six of a hundred": (94, 6, "Inconclusive", "NotSureYet"),
    "twelve of a hundred": (88, 12, "Fail", "BoundExceeded"),
    "just within, of a million": (950_000, 50_000, "Pass", "WithinBound"),
    "just beyond, of a million": (949_900, 50_100, "Inconclusive", "NotSureYet"),
    "surely beyond, of a million": (949_000, 51_000, "Fail", "BoundExceeded"),
    "ten million": (9_400_000, 600_000, "Fail", "BoundExceeded"),
}


@pytest.mark.parametrize(("fast", "slow", "verdict", "reason"), P95.values(), ids=P95)
def test_p95(fast, slow, verdict, reason):
    found = say(a_scope(), times=took(ms40=fast, ms150=slow))["p95"]
    assert (found.verdict.value, found.reason) == (verdict, reason)
    assert found.bound == "<= 80"


P99 = {
    "ninety-nine": (99, 0, "Inconclusive", "TooFewRequests"),
    "a hundred": (100, 0, "Pass", "WithinBound"),
    "one slow of a hundred": (99, 1, "Pass", "WithinBound"),
    "two slow of a hundred": (98, 2, "Inconclusive", "NotSureYet"),
    "five slow of a hundred": (95, 5, "Fail", "BoundExceeded"),
    "three slow of twenty": (17, 3, "Fail", "BoundExceeded"),
}


@pytest.mark.parametrize(("fast", "slow", "verdict", "reason"), P99.values(), ids=P99)
def test_p99(fast, slow, verdict, reason):
    found = say(a_scope(), times=took(ms40=fast, ms150=slow))["p99"]
    assert (found.verdict.value, found.reason) == (verdict, reason)
    assert found.bound == "<= 100"


def test_the_messages_have_numbers_and_units():
    found = say(a_scope(), times=took(ms40=255, ms150=157))
    assert found["p95"].message == "p95 is 146 ms over 412 requests, bound 80 ms (slo.p95): 38.1 % were slower"
    assert found["p95"].value == "146.1"
    few = say(a_scope(), times=took(ms40=12))["p95"]
    assert few.message == (
        "p95 is 39.5 ms over 12 requests, bound 80 ms (slo.p95): none was slower; it takes 20 requests to tell"
    )
    none = say(a_scope(), times=took())["p95"]
    assert none.message == (
        "no request was answered since the step began, bound 80 ms (slo.p95); it takes 20 requests to tell"
    )
    assert none.value is None
    over = say(a_scope(), times=took(ms40=10, over=90))["p99"]
    assert over.message.startswith("p99 is above 400 ms over 100 requests")
    assert over.value == "400"


def test_an_objective_that_is_not_set_has_no_gate():
    assert {"p95", "p99"} & say(a_scope(slo=Slo(p99_ms=100))).keys() == {"p99"}
    assert {"p95-vs-stable", "p99-vs-stable"} < say(a_scope(slo=Slo())).keys()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (DOWN, "Unreachable"),
        ((), "NoData"),
        ((Sample(5, {"le": "80"}),), "NoData"),  # without +Inf it is no histogram
        ((Sample(5, {}),), "NoData"),
        ((Sample(5, {"le": "eighty"}), Sample(5, {"le": "nan"})), "NoData"),
        ((Sample(math.nan, {"le": "+Inf"}),), "NotANumber"),
        ((Sample(math.inf, {"le": "+Inf"}),), "NotANumber"),
        ((Sample(-3.0, {"le": "+Inf"}),), "NotANumber"),
        (None, "NotAsked"),
    ],
)
def test_times_that_are_none(answer, reason):
    for name in ("p95", "p99", "p95-vs-stable", "p99-vs-stable"):
        found = say(a_scope(), times=answer)[name]
        assert (found.verdict.value, found.reason) == ("Inconclusive", reason)


def test_bounds_are_numbers_however_they_are_spelled():
    spelled = tuple(Sample(n, {"le": le}) for n, le in ((90, "8e1"), (95, "100.0"), (100, "+Inf")))
    assert "10 % were slower" in say(a_scope(), times=spelled)["p95"].message


def test_a_histogram_without_the_objective_is_no_answer():
    dropped = tuple(Sample(n, {"le": le}) for n, le in ((90, "40.0"), (95, "100.0"), (100, "+Inf")))
    found = say(a_scope(), times=dropped)
    assert found["p95"].message == (
        "the guard's histogram has no bound at 80 ms (slo.p95): does a relabelling drop it?"
    )
    assert found["p99"].verdict.value == "Fail"


# candidate, stable in the step, stable before -> verdict and reason of p95-vs-stable (1.5 times)
BESIDE = {
    "as fast": (took(ms40=1000), took(ms40=9000), (), "Pass", "WithinBound"),
    "a little slower": (took(ms40=900, ms50=100), took(ms40=9000), (), "Pass", "WithinBound"),
    "twice as slow": (took(ms100=1000), took(ms40=9000), (), "Fail", "BoundExceeded"),
    "as slow as a slow stable": (took(ms150=1000), took(ms120=9000), (), "Pass", "WithinBound"),
    "stable is beyond all bounds": (took(over=1000), took(over=9000), (), "Pass", "WithinBound"),
    "five milliseconds are nothing": (took(ms6=1000), took(ms1=9000), (), "Pass", "WithinBound"),
    "nineteen are not": (took(ms20=1000), took(ms1=9000), (), "Fail", "BoundExceeded"),
    "the candidate has few, as at a weight of 1 %": (took(ms100=19), took(ms40=9000), (), "Inconclusive", "TooFewRequests"),
    "the candidate has none": (took(), took(ms40=9000), (), "Inconclusive", "TooFewRequests"),
    "stable has few, as at 99 %": (took(ms40=9000), took(ms40=19), took(ms40=9000), "Pass", "WithinBound"),
    "slower than stable was before": (took(ms100=9000), took(ms100=19), took(ms40=9000), "Fail", "BoundExceeded"),
    "stable has none, as at 100 %": (took(ms40=9000), took(), took(ms40=9000), "Pass", "WithinBound"),
    "stable's quantile may be higher than that of thirty requests": (took(ms100=9000), took(ms40=30), (), "Inconclusive", "NotSureYet"),
    "stable had none at all": (took(ms40=9000), took(), (), "Pass", "NoBaseline"),
    "stable is not scraped": (took(ms40=9000), (), (), "Pass", "NoBaseline"),
    "Prometheus is down": (took(ms40=9000), DOWN, (), "Inconclusive", "Unreachable"),
    "Prometheus is down where it matters": (took(ms40=9000), took(), DOWN, "Inconclusive", "Unreachable"),
    "Prometheus is down where it does not": (took(ms40=9000), took(ms40=900), DOWN, "Pass", "WithinBound"),
}  # fmt: skip


@pytest.mark.parametrize(("candidate", "stable", "before", "verdict", "reason"), BESIDE.values(), ids=BESIDE)
def test_p95_beside_stable(candidate, stable, before, verdict, reason):
    found = say(a_scope(), times=candidate, stable_times=stable, stable_times_earlier=before)["p95-vs-stable"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


def test_without_a_baseline_the_objective_protects_or_nothing_does():
    nothing = {"stable_times": took(), "stable_times_earlier": took(ms40=19)}
    with_objective = say(a_scope(), **nothing)["p95-vs-stable"]
    assert with_objective.message == (
        "stable 2.4.0 answered fewer than 20 requests, in this step and in the hours before: there is nothing to "
        "compare with, and 80 ms (slo.p95) is what counts"
    )
    without = say(a_scope(slo=Slo(p99_ms=100)), **nothing)["p95-vs-stable"]
    assert (without.verdict.value, without.reason) == ("Inconclusive", "NoBaseline")


def test_the_message_beside_stable():
    found = say(a_scope(ratio=2), times=took(ms100=1000), stable_times=took(ms40=400))["p95-vs-stable"]
    assert found.message == (
        "p95 is 99 ms over 1,000 requests, bound 80 ms, 2 times that of stable 2.4.0 (39.5 ms over 400 requests): "
        "100 % were slower"
    )
    assert (found.value, found.bound) == ("99", "<= 80")


@pytest.mark.parametrize("ratio", [0, 0.5, 1, 1e9])
def test_any_ratio(ratio):
    found = say(a_scope(ratio=ratio), stable_times=took(over=100))["p95-vs-stable"]
    assert found.verdict.value == "Pass"


def test_old_samples_and_unseen_pods_do_not_pass_and_still_fail():
    for unseen in (scraped(sources=None), scraped(age=120), scraped(scrapes=1)):
        assert say(a_scope(), scraped=unseen)["p95"].verdict.value == "Inconclusive"
        assert say(a_scope(), scraped=unseen, times=took(ms150=100))["p95"].verdict.value == "Fail"


@pytest.mark.parametrize(
    ("share", "milliseconds"), [(0.45, 50), (0.9, 100), (0.95, 150), (0.99, 190), (0.995, 195), (1.0, 200)]
)
def test_a_quantile_is_interpolated_as_prometheus_does(share, milliseconds):
    assert Times((100.0, 200.0, math.inf), (900, 1000, 1000)).quantile(share) == pytest.approx(milliseconds)


def test_a_quantile_above_all_bounds_is_infinite():
    assert Times((100.0, math.inf), (90, 100)).quantile(0.95) == math.inf
    assert Times((math.inf,), (5,)).quantile(0.5) == math.inf


def test_what_stables_quantile_surely_is_not_above():
    few, many = Times((40.0, 80.0, math.inf), (89, 89, 89)), Times((40.0, 80.0, math.inf), (90, 90, 90))
    assert few.quantile_at_most(0.95) == math.inf
    assert many.quantile_at_most(0.95) == 40
    assert Times((40.0, 80.0, math.inf), (950, 1000, 1000)).quantile_at_most(0.95) == 80
