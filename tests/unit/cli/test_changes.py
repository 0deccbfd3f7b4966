"""status --watch where nobody sees a tree move: a line a change."""

from copy import deepcopy
from datetime import UTC, datetime

import pytest
import yaml

from inferenceversion_operator.cli.views.candidate import waits_for
from inferenceversion_operator.cli.views.changes import changed_lines
from inferenceversion_operator.cli.views.status import view_endpoint
from tests.unit.cli.conftest import GOLDEN

OBJECTS = list(yaml.safe_load_all((GOLDEN / "news.yaml").read_text()))
NOW = datetime(2026, 11, 30, 10, 22, tzinfo=UTC)


@pytest.fixture
def look():
    """View the golden endpoint after a change to its status, and to its versions'."""

    def view(change=lambda status: None, versions=lambda statuses: None):
        objects = deepcopy(OBJECTS)
        change(objects[0]["status"])
        found = [obj for obj in objects if obj["kind"] == "InferenceVersion"]
        versions({v["spec"]["version"]: v["status"] for v in found})
        return view_endpoint(objects[0], found)

    return view


def lines(before, after):
    return [line.removeprefix("news/news-sentiment: ") for line in changed_lines([before], [after])]


def test_a_step_forward(look):
    def change(status):
        status["candidate"] |= {"step": 2, "weight": 50, "since": "2026-11-30T10:31:00Z", "gates": []}

    def weights(statuses):
        statuses["2.4.2"]["weight"], statuses["2.4.1"]["weight"] = 50, 50

    assert lines(look(), look(change, weights)) == [
        "candidate 2.4.2: canary step 3 of 3, 50 %",
        "version 2.4.2: weight 25 % -> 50 %",
        "version 2.4.1: weight 75 % -> 50 %",
    ]


def test_a_gate_that_changes_its_mind_with_what_it_saw(look):
    def change(status):
        status["candidate"]["gates"][1] |= {"verdict": "Fail", "value": "97", "message": "p95 97 ms above 80 ms"}

    assert lines(look(), look(change)) == ["candidate 2.4.2: gate p95 Fail (97 <= 80): p95 97 ms above 80 ms"]


def test_values_that_move_at_every_look_are_no_news(look):
    def change(status):
        status["candidate"]["lookedAt"] = "2026-11-30T10:22:00Z"
        status["candidate"]["gates"][0]["value"] = "0.9995"
        status["conditions"][0]["message"] = "other words"

    assert lines(look(), look(change)) == []


def test_the_end_of_a_release(look):
    def change(status):
        del status["candidate"]
        status |= {"stable": "2.4.2", "phase": "Stable"}
        ready = {"type": "Ready", "status": "True", "reason": "Serving", "message": "version 2.4.2 serves all traffic"}
        status["conditions"] = [ready]

    def roles(statuses):
        statuses["2.4.2"] |= {"role": "Stable", "weight": 100, "readyReplicas": 2}

    assert lines(look(), look(change, roles)) == [
        "phase Canary -> Stable",
        "stable 2.4.1 -> 2.4.2",
        "Serving: version 2.4.2 serves all traffic",
        "version 2.4.2: role Candidate -> Stable, weight 25 % -> 100 %, ready 2/2",
    ]


def test_waiting_for_a_person(look):
    def change(status):
        status["candidate"]["awaitingApprovalSince"] = "2026-11-30T10:21:00Z"

    assert lines(look(), look(change)) == ["candidate 2.4.2: its gates pass; waits for kubectl iv promote"]


def test_what_comes_and_goes(look):
    view = look()
    assert changed_lines([view], []) == ["news/news-sentiment: is gone"]
    assert changed_lines([], [view])[0] == "news/news-sentiment: is new"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "8m more (it takes 10m at least), and gate p95"),
        ({"since": "2026-11-30T10:00:00Z"}, "gate p95"),
        ({"since": "2026-11-30T10:00:00Z", "inconclusiveSince": "2026-11-30T10:12:00Z"}, "gate p95, unclear for 10m"),
        ({"since": "2026-11-30T10:00:00Z", "gates": []}, "the next look at its gates"),
        ({"since": None, "waitingSince": "2026-11-30T10:20:00Z"}, "its pods and the Gateway, before the step counts"),
        ({"phase": "Starting", "step": None, "since": None}, "its pods"),
        ({"step": 2, "awaitingApprovalSince": "2026-11-30T09:22:00Z"}, "a yes: kubectl iv promote news-sentiment 2.4.2 (23h left, then: Fail)"),
        ({"awaitingApprovalSince": "2026-11-30T10:21:30Z"}, "a yes: kubectl iv promote news-sentiment 2.4.2 (for 30s)"),
    ],
)  # fmt: skip
def test_what_a_release_waits_for(look, change, said):
    view = look(lambda status: status["candidate"].update(change))
    assert waits_for(view.candidate, "news-sentiment", NOW) == said
