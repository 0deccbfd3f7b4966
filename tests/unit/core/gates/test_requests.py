"""The gate requests, and whether Prometheus sees what it counts."""

import math
from dataclasses import replace

import pytest

from inferenceversion_operator.core.gates.answers import Unanswered
from inferenceversion_operator.core.gates.scope import Phase
from tests.unit.core.gates.given import DOWN, a_scope, one, say, scraped

PHASES = [(Phase.CANARY, "requests", "scraped"), (Phase.SHADOW, "compared", "differ_scraped")]
COUNTS = {
    "none": (one(0), "Inconclusive", "TooFewRequests"),
    "one too few": (one(99), "Inconclusive", "TooFewRequests"),
    "enough": (one(100), "Pass", "Enough"),
    "after a restart counts are fractions": (one(99.6), "Pass", "Enough"),
    "what is left of a counter that stands still": (one(-1e-9), "Inconclusive", "TooFewRequests"),
    "no such series": ((), "Inconclusive", "NoData"),
    "NaN": (one(math.nan), "Inconclusive", "NotANumber"),
    "infinite": (one(math.inf), "Inconclusive", "NotANumber"),
    "negative": (one(-5), "Inconclusive", "NotANumber"),
    "more than can be": (one(1e300), "Inconclusive", "NotANumber"),
    "Prometheus is down": (DOWN, "Inconclusive", "Unreachable"),
    "not asked": (None, "Inconclusive", "NotAsked"),
}


@pytest.mark.parametrize(("answer", "verdict", "reason"), COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize(("phase", "key", "_source"), PHASES)
def test_requests(answer, verdict, reason, phase, key, _source):
    asked = "differ.compared" if key == "compared" else key
    found = say(a_scope(phase), **{asked: answer})["requests"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


def test_the_messages():
    assert say(a_scope(), requests=one(37))["requests"].message == (
        "37 requests were answered by 2.4.1 since the step began, 100 are needed (minRequests of the step)"
    )
    found = say(a_scope(Phase.SHADOW, min_requests=5000))["requests"]
    assert found.message == (
        "1,000 requests were compared with 2.4.0 since the step began, 5,000 are needed (traffic.shadow.minRequests)"
    )
    assert (found.value, found.bound) == ("1000", ">= 5000")


def test_none_may_be_enough():
    assert say(a_scope(min_requests=0), requests=one(0))["requests"].verdict.value == "Pass"
    assert say(a_scope(min_requests=0), requests=())["requests"].verdict.value == "Inconclusive"


SOURCES = {
    "all is well": (scraped(), "Enough"),
    "nobody scrapes": (scraped(sources=None, age=None, scrapes=None), "NotScraped"),
    "the last scrape failed": (scraped(sources=None, age=None), "NotScraped"),
    "one scrape so far": (scraped(scrapes=1), "NotScrapedOftenEnough"),
    "no scrape in the step yet": (scraped(scrapes=None), "NotScrapedOftenEnough"),
    "every 60 s, the last one 59 s ago": (scraped(age=59, scrapes=2, seconds=125), "Enough"),
    "every 2 s, the last one 14 s ago": (scraped(age=14, scrapes=150, seconds=300), "Enough"),
    "every 2 s, the last one 100 s ago": (scraped(age=100, scrapes=100, seconds=300), "SamplesTooOld"),
    "a clock that is behind": (scraped(age=-3), "Enough"),
    "an age that is none": (scraped(age=math.nan), "SamplesTooOld"),
    "counts that are none": (scraped(sources=math.nan), "NotScraped"),
    "scrapes that are none": (scraped(scrapes=math.nan), "NotScrapedOftenEnough"),
    "endless": (scraped(sources=math.inf, scrapes=math.inf, age=math.inf), "SamplesTooOld"),
    "Prometheus is down": (DOWN, "Unreachable"),
    "not asked": (None, "NotAsked"),
}


@pytest.mark.parametrize(("answer", "reason"), SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize(("phase", "_key", "source"), PHASES)
def test_nothing_passes_on_what_is_not_scraped(answer, reason, phase, _key, source):
    found = say(a_scope(phase), **{source: answer})["requests"]
    assert found.reason == reason
    assert found.verdict.value == ("Pass" if reason == "Enough" else "Inconclusive")


def test_where_there_is_no_number_the_scrape_says_why():
    found = say(a_scope(), requests=(), scraped=scraped(sources=None))["requests"]
    assert found.message == (
        "Prometheus does not scrape the pods of version 2.4.1: it needs a target for the port guard-metrics "
        "(path /stats/prometheus) of each"
    )
    found = say(a_scope(Phase.SHADOW), **{"differ.compared": ()}, differ_scraped=scraped(sources=None))["requests"]
    assert found.message.startswith("Prometheus does not scrape the differ of endpoint sentiment: ")


@pytest.mark.parametrize(
    ("pods", "seen", "verdict"),
    [(None, 1, "Pass"), (2, 1, "Inconclusive"), (2, 2, "Pass"), (2, 3, "Pass"), (0, 1, "Pass")],
)
def test_every_ready_pod_has_to_be_seen(pods, seen, verdict):
    assert say(a_scope(pods=pods), scraped=scraped(sources=seen))["requests"].verdict.value == verdict


def test_a_status_that_says_nothing_sensible_of_pods_holds_nothing_up():
    scope = a_scope()
    odd = replace(scope, candidate=replace(scope.candidate, status={"readyReplicas": "two"}))
    assert say(odd)["requests"].verdict.value == "Pass"


def test_what_prometheus_says_is_cut_to_what_status_can_hold():
    endless = Unanswered("R" * 500, "m" * 9000)
    found = say(a_scope(), requests=endless)["requests"]
    assert (len(found.reason), len(found.message), found.message[-2:]) == (128, 4096, "m…")
