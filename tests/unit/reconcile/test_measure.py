"""Looks at the gates: one at a time for each endpoint, given up for newer ones, and always with an end."""

import asyncio
import math
from datetime import UTC, datetime

import pytest

from inferenceversion_operator.adapters import prometheus
from inferenceversion_operator.core.gates.answers import Sample, Unanswered
from inferenceversion_operator.reconcile.measure import Measurer

NEWS = ("ns", "news")
SPORTS = ("ns", "sports")


class Oracle:
    """Stands where Prometheus would: answers when it is let, each question with its number."""

    def __init__(self):
        self.asked = []
        self.now = 0
        self.most = 0
        self.gate = asyncio.Event()

    async def ask(self, questions, at):
        self.asked.append(questions)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.gate.wait()
        finally:
            self.now -= 1
        return {key: (prometheus.Sample(float(query)),) for key, query in questions.items()}


class Ended(asyncio.Queue):
    """The keys of looks that ended, in order."""

    async def soon(self):
        async with asyncio.timeout(5):
            return await self.get()


@pytest.fixture
def oracle():
    return Oracle()


@pytest.fixture
def ended():
    return Ended()


@pytest.fixture
async def measurer(oracle, ended):
    measurer = Measurer(oracle.ask, ended.put_nowait, at_once=2)
    yield measurer
    await measurer.stop()


async def turn():
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_look_ends_with_answers_and_a_call(measurer, oracle, ended):
    before = datetime.now(UTC)
    measurer.wanted(NEWS, "step 1", {"a": "1", "b": "2"})
    assert measurer.latest(NEWS) is None
    oracle.gate.set()
    assert await ended.soon() == NEWS
    measured = measurer.latest(NEWS)
    assert measured.asked_for == "step 1"
    assert before <= measured.at <= datetime.now(UTC)
    assert measured.answers == {"a": (Sample(1.0),), "b": (Sample(2.0),)}
    assert measurer.latest(SPORTS) is None


async def test_the_same_look_is_not_begun_twice_while_it_is_under_way(measurer, oracle, ended):
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    await turn()
    measurer.wanted(NEWS, "step 1", {"a": "2"})
    oracle.gate.set()
    await ended.soon()
    assert oracle.asked == [{"a": "1"}]
    measurer.wanted(NEWS, "step 1", {"a": "3"})
    await ended.soon()
    assert measurer.latest(NEWS).answers == {"a": (Sample(3.0),)}


async def test_a_look_for_something_else_takes_the_place_of_the_older(measurer, oracle, ended):
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    await turn()
    measurer.wanted(NEWS, "step 2", {"a": "2"})
    await turn()
    assert oracle.now == 1
    oracle.gate.set()
    await ended.soon()
    assert measurer.latest(NEWS).asked_for == "step 2"
    await turn()
    assert ended.empty()


async def test_an_answer_that_came_in_the_moment_it_was_given_up_is_dropped(measurer, oracle, ended):
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    await turn()
    oracle.gate.set()  # the look is about to go on
    measurer.wanted(NEWS, "step 2", {"a": "2"})
    await ended.soon()
    await turn()
    assert measurer.latest(NEWS).asked_for == "step 2"
    assert ended.empty()


async def test_the_last_answers_stay_while_new_ones_are_fetched(measurer, oracle, ended):
    oracle.gate.set()
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    await ended.soon()
    oracle.gate.clear()
    measurer.wanted(NEWS, "step 1", {"a": "2"})
    await turn()
    assert measurer.latest(NEWS).answers == {"a": (Sample(1.0),)}


async def test_no_more_than_so_many_at_once(measurer, oracle, ended):
    for number in range(7):
        measurer.wanted(("ns", f"e{number}"), "step 1", {"a": "1"})
    await turn()
    assert oracle.now == 2
    oracle.gate.set()
    assert {await ended.soon() for _ in range(7)} == {("ns", f"e{number}") for number in range(7)}
    assert oracle.most == 2


async def test_one_that_waits_for_its_turn_can_be_given_up(measurer, oracle, ended):
    for number in range(3):
        measurer.wanted(("ns", f"e{number}"), "step 1", {"a": "1"})
    await turn()
    measurer.forget(("ns", "e2"))
    oracle.gate.set()
    await ended.soon()
    await ended.soon()
    await turn()
    assert ended.empty()
    assert measurer.latest(("ns", "e2")) is None


async def test_what_is_forgotten_is_gone(measurer, oracle, ended):
    oracle.gate.set()
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    await ended.soon()
    oracle.gate.clear()
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    await turn()
    measurer.forget(NEWS)
    measurer.forget(SPORTS)
    await turn()
    assert measurer.latest(NEWS) is None
    assert oracle.now == 0


async def test_nothing_is_asked_without_a_question(measurer, oracle):
    measurer.wanted(NEWS, "", {})
    await turn()
    assert oracle.asked == []


async def test_without_prometheus_every_answer_says_what_to_set(ended):
    measurer = Measurer(None, ended.put_nowait)
    measurer.wanted(NEWS, "step 1", {"a": "up"})
    await ended.soon()
    message = "no Prometheus is configured: set prometheus.url of the chart"
    assert measurer.latest(NEWS).answers == {"a": Unanswered("NotConfigured", message)}
    await measurer.stop()


async def test_no_answer_in_terms_of_the_core(ended):
    async def ask(questions, at):
        return {
            "down": prometheus.NoAnswer(prometheus.Reason.UNREACHABLE, "no connection to http://p"),
            "none": (),
            "nan": (prometheus.Sample(math.nan, {"a": "b"}),),
        }

    measurer = Measurer(ask, ended.put_nowait)
    measurer.wanted(NEWS, "step 1", {"down": "up", "none": "up", "nan": "up"})
    await ended.soon()
    answers = measurer.latest(NEWS).answers
    assert answers["down"] == Unanswered("Unreachable", "no connection to http://p")
    assert answers["none"] == ()
    assert math.isnan(answers["nan"][0].value)
    assert answers["nan"][0].labels == {"a": "b"}
    await measurer.stop()


async def test_a_mistake_of_ours_ends_the_look_too(ended, caplog):
    async def ask(questions, at):
        raise ZeroDivisionError("oh")

    measurer = Measurer(ask, ended.put_nowait)
    measurer.wanted(NEWS, "step 1", {"a": "up"})
    await ended.soon()
    assert measurer.latest(NEWS).answers["a"] == Unanswered(
        "Failed", "asking Prometheus failed: ZeroDivisionError('oh')"
    )
    assert "a look at the gates failed" in caplog.text
    await measurer.stop()


async def test_stop_ends_what_is_under_way(oracle, ended):
    measurer = Measurer(oracle.ask, ended.put_nowait)
    measurer.wanted(NEWS, "step 1", {"a": "1"})
    measurer.wanted(SPORTS, "step 1", {"a": "1"})
    await turn()
    await measurer.stop()
    assert oracle.now == 0
    assert ended.empty()
