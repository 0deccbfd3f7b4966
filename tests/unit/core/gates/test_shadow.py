"""mismatch and drift: the candidate's answers beside stable's, and stable's beside its own."""

import math

import pytest

from inferenceversion_operator.api.types import Shadow, Tensor
from inferenceversion_operator.core.gates.answers import Sample
from inferenceversion_operator.core.gates.psi import Bin, merge_adjacent, merge_rare, shifts, surely_beyond
from inferenceversion_operator.core.gates.scope import Phase
from tests.unit.core.gates.given import DOWN, a_scope, pairs, say, scores, scraped, values

NAN = (Sample(math.nan, {"of": "compared"}),)

# compared and differing, asked twice and differing -> at the default bound of 1 %
MISMATCH = {
    "none differs": (pairs(1000, 0), pairs(100, 0), "Pass", "WithinBound"),
    "within": (pairs(1000, 10), pairs(100, 0), "Pass", "WithinBound"),
    "a little beyond": (pairs(1000, 12), pairs(1000, 0), "Inconclusive", "NotSureYet"),
    "far beyond": (pairs(1000, 100), pairs(1000, 0), "Fail", "BoundExceeded"),
    "stable differs from itself as often": (pairs(1000, 100), pairs(1000, 95), "Pass", "WithinBound"),
    "more than that": (pairs(1000, 300), pairs(1000, 95), "Fail", "BoundExceeded"),
    "nobody asked stable twice yet: it may differ as often": (
        pairs(99, 99),
        pairs(0, 0),
        "Inconclusive",
        "TooFewRequests",
    ),
    "nobody ever will: clients repeat a few requests": (pairs(1000, 100), pairs(0, 0), "Fail", "BoundExceeded"),
    "nobody ever will, and that may be chance": (pairs(1000, 12), pairs(0, 0), "Inconclusive", "NotSureYet"),
    "five times are little": (pairs(1000, 300), pairs(5, 0), "Inconclusive", "NotSureYet"),
    "but all of them differ": (pairs(1000, 1000), pairs(5, 0), "Fail", "BoundExceeded"),
    "nobody asked twice, and none differs": (pairs(1000, 0), (), "Pass", "WithinBound"),
    "no series of mismatches beside comparisons": (pairs(1000, 0)[:1], pairs(100, 0), "Pass", "WithinBound"),
    "too few": (pairs(99, 0), pairs(10, 0), "Inconclusive", "TooFewRequests"),
    "nothing compared yet": (pairs(0, 0), pairs(0, 0), "Inconclusive", "TooFewRequests"),
    "no comparisons": ((), pairs(100, 0), "Inconclusive", "NoData"),
    "NaN": (NAN, pairs(100, 0), "Inconclusive", "NotANumber"),
    "NaN of noise": (pairs(1000, 0), NAN, "Inconclusive", "NotANumber"),
    "Prometheus is down": (DOWN, pairs(100, 0), "Inconclusive", "Unreachable"),
    "or for the noise": (pairs(1000, 0), DOWN, "Inconclusive", "Unreachable"),
    "not asked": (None, pairs(100, 0), "Inconclusive", "NotAsked"),
}


@pytest.mark.parametrize(("compared", "twice", "verdict", "reason"), MISMATCH.values(), ids=MISMATCH)
def test_mismatch(compared, twice, verdict, reason):
    found = say(a_scope(Phase.SHADOW), mismatches=compared, noise=twice)["mismatch"]
    assert (found.verdict.value, found.reason) == (verdict, reason)
    assert verdict == "Inconclusive" or found.bound == "<= 0.01"


def test_the_excess_is_the_value_and_the_message_tells_both():
    flips = tuple(
        Sample(count, {"output": "LABEL", "stable_label": "neutral", "candidate_label": label})
        for label, count in (("negative", 60), ("positive", 20))
    )
    failed = (Sample(4, {"side": "candidate"}), Sample(2, {"side": "stable"}), Sample(0, {"side": "both"}))
    found = say(a_scope(Phase.SHADOW), mismatches=pairs(1000, 100), noise=pairs(200, 4), flips=flips, failed=failed)
    assert (found["mismatch"].value, found["mismatch"].bound) == ("0.08", "<= 0.01")
    assert found["mismatch"].message == (
        "the answers to 10 % of 1,000 requests differ from those of stable 2.4.0, which differs from itself in 2 % of "
        "200, bound 1 % more (shadow.maxMismatch); of those 4 got no usable answer from the candidate; 2 more got none "
        "from stable and do not count; most often LABEL was 'neutral' and is 'negative' (60 times)"
    )


def test_what_only_explains_may_be_missing():
    for absent in (DOWN, None, ()):
        found = say(
            a_scope(Phase.SHADOW), mismatches=pairs(1000, 100), noise=pairs(999, 0), flips=absent, failed=absent
        )
        assert found["mismatch"].verdict.value == "Fail"


def test_a_loud_stable_is_told_to_set_a_tolerance():
    found = say(a_scope(Phase.SHADOW), mismatches=pairs(1000, 100), noise=pairs(1000, 100))["mismatch"]
    assert "differs from itself in 10 % of 1,000 (set shadow.tolerance, that hides what has changed)" in found.message


def test_no_mismatch_at_all_may_be_the_bound():
    scope = a_scope(Phase.SHADOW, shadow=Shadow(max_mismatch=0.0))
    assert say(scope, mismatches=pairs(1000, 0), noise=pairs(1000, 0))["mismatch"].verdict.value == "Pass"
    assert say(scope, mismatches=pairs(1000, 1), noise=pairs(1000, 0))["mismatch"].verdict.value == "Inconclusive"
    assert say(scope, mismatches=pairs(1000, 40), noise=pairs(1000, 0))["mismatch"].verdict.value == "Fail"


EVEN = {"positive": 500, "negative": 500}
TILTED = {"positive": 150, "negative": 850}
LABELS = {
    "the same": (values(stable=EVEN, candidate=EVEN), 1000, "Pass", "WithinBound"),
    "a little": (values(stable=EVEN, candidate={"positive": 450, "negative": 550}), 1000, "Pass", "WithinBound"),
    "tilted": (values(stable=EVEN, candidate=TILTED), 1000, "Fail", "BoundExceeded"),
    "a new label": (values(stable=EVEN, candidate={"neutral": 1000}), 1000, "Fail", "BoundExceeded"),
    "tilted, of few requests with many values each": (values(stable=EVEN, candidate=TILTED), 25, "Inconclusive", "NotSureYet"),
    "one stray label": (values(stable=EVEN, candidate={**EVEN, "": 1}), 1000, "Pass", "WithinBound"),
    "too few": (values(stable=EVEN, candidate=TILTED), 19, "Inconclusive", "TooFewRequests"),
    "no answer had a label": ((), 1000, "Pass", "NothingToCompare"),
    "only stable's had: they mismatch": (values(stable=EVEN), 1000, "Pass", "NothingToCompare"),
    "NaN": ((Sample(math.nan, {"output": "LABEL", "side": "stable", "label": "x"}),), 1000, "Inconclusive", "NotANumber"),
    "Prometheus is down": (DOWN, 1000, "Inconclusive", "Unreachable"),
    "not asked": (None, 1000, "Inconclusive", "NotAsked"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "compared", "verdict", "reason"), LABELS.values(), ids=LABELS)
def test_drift_of_labels(answer, compared, verdict, reason):
    found = say(a_scope(Phase.SHADOW), mismatches=pairs(compared, 0), **{"differ.labels.0": answer})["drift-labels"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


FLAT = [100] * 10
SCORES = {
    "the same": (scores(stable=FLAT, candidate=FLAT), "Pass", "WithinBound"),
    "shifted by a tenth": (scores(stable=FLAT, candidate=[0, *FLAT[:8], 200]), "Fail", "BoundExceeded"),
    "all in one place": (scores(stable=FLAT, candidate=[1000, *[0] * 9]), "Fail", "BoundExceeded"),
    "one tenth is a little fuller": (scores(stable=FLAT, candidate=[120, 80, *FLAT[2:]]), "Pass", "WithinBound"),
    "no scores": ((), "Pass", "NothingToCompare"),
    "Prometheus is down": (DOWN, "Inconclusive", "Unreachable"),
}


@pytest.mark.parametrize(("answer", "verdict", "reason"), SCORES.values(), ids=SCORES)
def test_drift_of_scores(answer, verdict, reason):
    found = say(a_scope(Phase.SHADOW), **{"differ.scores.0": answer})["drift-scores"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


def test_scores_that_are_no_numbers_are_a_drift():
    broken = tuple(
        Sample(count, {"output": "SCORES", "side": side, "le": le})
        for side, le, count in [
            ("stable", "0.5", 500), ("stable", "1.0", 1000), ("stable", "+Inf", 1000),
            ("candidate", "0.5", 0), ("candidate", "1.0", 0), ("candidate", "+Inf", 1000),
        ]
    )  # fmt: skip
    found = say(a_scope(Phase.SHADOW), **{"differ.scores.0": broken})["drift-scores"]
    assert found.verdict.value == "Fail"
    assert "a score above all bounds is 99.9 %, and 0.0499 % with stable 2.4.0" in found.message


def test_the_worst_output_is_told_with_what_moved_most():
    answer = (*values(stable=EVEN, candidate=EVEN), *values("TOPIC", stable=EVEN, candidate=TILTED))
    found = say(a_scope(Phase.SHADOW), **{"differ.labels.0": answer})["drift-labels"]
    assert found.message == (
        "the PSI of output TOPIC is 0.606 over 1,000 requests, bound 0.2 (shadow.maxDrift): 'positive' is 15 %, and "
        "50 % with stable 2.4.0"
    )
    assert (found.value, found.bound) == ("0.605546", "<= 0.2")


def test_only_outputs_that_have_labels_or_scores_have_a_gate():
    def gates(*outputs):
        tensors = tuple(Tensor(f"OUT{n}", datatype, (1,)) for n, datatype in enumerate(outputs))
        return {name for name in say(a_scope(Phase.SHADOW, outputs=tensors)) if name.startswith("drift")}

    assert gates("BYTES") == {"drift-labels"}
    assert gates("FP16", "INT64") == {"drift-scores"}
    assert gates("INT64", "BOOL") == set()


def test_more_outputs_than_one_question_is_about():
    outputs = tuple(Tensor(f"OUT{n}", "BYTES", (1,)) for n in range(20))
    same = values("OUT0", stable=EVEN, candidate=EVEN)
    answers = {
        "differ.labels.0": same,
        "differ.labels.1": same,
        "differ.labels.2": values("OUT19", stable=EVEN, candidate=TILTED),
    }
    found = say(a_scope(Phase.SHADOW, outputs=outputs), **answers)["drift-labels"]
    assert "output OUT19" in found.message
    assert (
        say(a_scope(Phase.SHADOW, outputs=outputs), **answers | {"differ.labels.1": None})["drift-labels"].reason
        == "NotAsked"
    )


def test_in_the_shadow_each_gate_depends_on_who_counts_for_it():
    found = say(a_scope(Phase.SHADOW), differ_scraped=scraped(sources=None))
    assert {name for name, finding in found.items() if finding.reason == "NotScraped"} == {
        "requests", "mismatch", "drift-labels", "drift-scores",
    }  # fmt: skip
    found = say(a_scope(Phase.SHADOW), scraped=scraped(sources=None))
    assert {name for name, finding in found.items() if finding.reason == "NotScraped"} == {"success-rate", "p95", "p99"}


def test_psi_of_the_textbook():
    # Two bins, 50/50 and 40/60: (0.4 - 0.5) ln 0.8 + (0.6 - 0.5) ln 1.2
    moved = shifts([Bin("a", 5_000_000, 4_000_000), Bin("b", 5_000_000, 6_000_000)])
    assert sum(shift.weight for shift in moved) == pytest.approx(0.1 * math.log(1.2) - 0.1 * math.log(0.8), rel=1e-5)


def test_bins_are_large_enough_to_mean_something():
    rare = merge_rare([Bin("a", 100, 100), Bin("b", 1, 2), Bin("c", 3, 0)])
    assert rare == (Bin("a", 100, 100), Bin("all others", 4, 2))
    ordered = merge_adjacent([Bin(f"{n}", 1, 1) for n in range(95)])
    assert [one.both for one in ordered] == [20] * 8 + [30]
    gone = merge_adjacent([Bin("low", 100, 0), Bin("middle", 900, 1000), Bin("high", 0, 5)])
    assert gone == (Bin("low", 100, 0), Bin("high", 900, 1005))
    assert merge_adjacent([]) == ()


@pytest.mark.parametrize("count", [50, 1000, 10**9])
def test_more_samples_leave_less_to_chance(count):
    assert surely_beyond(0.2, 5, count, count) > surely_beyond(0.2, 5, 2 * count, 2 * count) > 0.2
