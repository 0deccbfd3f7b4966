"""promote and abort: one annotation, and what the operator made of it."""

import json
import re

import pytest

from inferenceversion_operator.cli import wait
from tests.unit.cli.fake_api import FakeApi

ACTION = "inferenceversion.io/action"
ASKED = "by=system:serviceaccount:news:ci at=2026-11-30T10:22:00Z"

pytestmark = pytest.mark.usefixtures("in_the_canary")


def operator(api: FakeApi, **outcome):
    """Play the operator: it acts on the annotation by this change of the status."""

    def act(endpoint):
        status = endpoint["status"]
        status["observedAction"] = endpoint["metadata"]["annotations"][ACTION]
        entry = outcome.get("entry")
        if entry:
            status["history"].insert(0, entry)
            del status["candidate"]
        status["stable"] = outcome.get("stable", status["stable"])
        if "candidate" in outcome:
            status["candidate"] |= outcome["candidate"]

    api.after_patch = act


def asked(api):
    ((_, _, patch),) = api.patches
    return patch


def test_promote_is_a_yes_to_the_step_that_was_seen(iv, cluster):
    operator(cluster, candidate={"step": 2, "weight": 50})
    result = iv("promote", "news-sentiment")
    assert result.exit_code == 0
    assert re.fullmatch(r"version 2\.4\.2 goes on: canary step 3 of 3, 50 %, after \d\.\d\d s\n", result.stdout)
    assert asked(cluster) == {"metadata": {"annotations": {ACTION: f"promote 2.4.2 step=1 {ASKED}"}}}
    assert result.stderr == (
        "version 2.4.2: canary step 2 of 3, 25 % ends, whatever its gates say now: p95 (Inconclusive); the next step begins\n"
    )


def test_how_an_earlier_release_of_the_version_ended_is_no_answer(iv, cluster):
    cluster.endpoint()["status"]["history"].insert(0, {"version": "2.4.2", "outcome": "Failed", "message": "long ago"})
    operator(cluster, candidate={"step": 2, "weight": 50})
    result = iv("promote", "news-sentiment")
    assert result.exit_code == 0
    assert "goes on: canary step 3 of 3" in result.stdout


def test_of_two_people_the_second_skips_nothing(iv, cluster):
    operator(cluster)  # the candidate is in step 1 for this one, and the operator finds it elsewhere
    result = iv("promote", "news-sentiment", "2.4.2")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the operator saw it and did nothing: version 2.4.2 had moved meanwhile" in result.stderr


def test_the_last_step_gives_all_requests(iv, cluster):
    cluster.endpoint()["status"]["candidate"] |= {"step": 2, "weight": 50}
    entry = {"version": "2.4.2", "outcome": "Promoted", "message": "serves all traffic instead of 2.4.1: by ci"}
    operator(cluster, stable="2.4.2", entry=entry)
    result = iv("promote", "news-sentiment", "-o", "json")
    outcome = json.loads(result.stdout)
    assert outcome["answer"] == {
        "what": "Promoted",
        "message": "version 2.4.2: Promoted: serves all traffic instead of 2.4.1: by ci",
    }
    assert (outcome["changed"], outcome["wish"]["step"]) == (True, 2)
    assert "it gets all requests" in result.stderr


def test_a_release_that_fails_meanwhile_is_told(iv, cluster):
    entry = {"version": "2.4.2", "outcome": "Failed", "message": "gate p95: 97 ms above 80 ms"}
    operator(cluster, entry=entry)
    result = iv("promote", "news-sentiment")
    assert result.exit_code == 1
    assert "version 2.4.2: Failed: gate p95: 97 ms above 80 ms" in result.stderr


def test_skip_steps_is_asked_for_twice(iv, cluster):
    no = iv("promote", "news-sentiment", "--skip-steps", input="n\n")
    assert (no.exit_code, cluster.patches) == (1, [])
    assert "no gate is asked" in no.stderr
    assert iv("promote", "news-sentiment", "--skip-steps", input="").exit_code == 1
    assert cluster.patches == []
    operator(cluster, stable="2.4.2", entry={"version": "2.4.2", "outcome": "Promoted"})
    assert iv("promote", "news-sentiment", "--skip-steps", input="y\n").exit_code == 0
    assert asked(cluster)["metadata"]["annotations"][ACTION] == f"promote 2.4.2 skip-steps {ASKED}"


def test_skip_steps_waits_until_it_serves(iv, cluster):
    operator(cluster, candidate={"skipSteps": True})
    result = iv("promote", "news-sentiment", "--skip-steps", "-y", "--timeout", "0.3")
    assert result.exit_code == 1
    assert "version 2.4.2 takes over when it is Ready; not within 0.3 s" in result.stderr


def test_what_was_held_back_has_not_moved_on_before_it_serves(iv, cluster):
    del cluster.endpoint()["status"]["candidate"]
    candidate = {"version": "2.4.2", "phase": "Starting", "weight": 0, "skipSteps": True}

    def act(endpoint):
        endpoint["status"] |= {"observedAction": endpoint["metadata"]["annotations"][ACTION], "candidate": candidate}

    cluster.after_patch = act
    result = iv("promote", "news-sentiment", "--skip-steps", "-y", "--timeout", "0.3", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["answer"]["what"] == "Waiting"


def test_skip_steps_releases_what_is_held_back(iv, cluster):
    status = cluster.endpoint()["status"]
    del status["candidate"]
    cluster.endpoint()["spec"]["paused"] = True
    refused = iv("promote", "news-sentiment", "2.4.2")
    assert refused.exit_code == 1
    assert "no release of news-sentiment is under way" in refused.stderr
    assert "version 2.4.2 is held back: the endpoint is paused (kubectl iv resume news-sentiment)" in refused.stderr
    dry = iv("promote", "news-sentiment", "--skip-steps", "--dry-run")
    assert "version 2.4.2 gets all requests as soon as it is Ready" in dry.stdout
    assert iv("promote", "news-sentiment", "2.4.1", "--skip-steps", "-y").exit_code == 1
    assert cluster.patches == []


def test_abort(iv, cluster):
    operator(cluster, entry={"version": "2.4.2", "outcome": "Aborted", "message": "aborted by ci"})
    result = iv("abort", "news-sentiment", "news-sentiment-2.4.2")
    assert result.exit_code == 0
    assert result.stdout.startswith("version 2.4.2: Aborted: aborted by ci, after ")
    assert asked(cluster)["metadata"]["annotations"][ACTION] == f"abort 2.4.2 {ASKED}"
    assert "2.4.1 gets all requests back at once" in result.stderr


def test_abort_names_the_version_that_takes_over_from_stable_then(iv, cluster):
    assert "then " not in iv("abort", "news-sentiment", "--dry-run").stdout.replace("--dry-run); it would be", "")
    cluster.endpoint()["status"]["stable"] = "2.4.0"  # somebody went back from 2.4.1, and took the pin away
    assert "then 2.4.1 is wanted: it was stable before" in iv("abort", "news-sentiment", "--dry-run").stdout
    cluster.endpoint()["spec"]["version"] = "2.4.2"
    assert "is wanted" not in iv("abort", "news-sentiment", "--dry-run").stdout


def test_a_yes_to_a_step_that_has_not_begun_is_kept_for_it(iv, cluster):
    not_begun(cluster.endpoint())
    result = iv("promote", "news-sentiment", "--timeout", "0.3")
    assert result.exit_code == 1
    assert "canary step 2 of 3, 25 % ends as soon as it has begun" in result.stderr
    assert "the step of 2.4.2 ends as soon as it has begun; not within 0.3 s" in result.stderr


@pytest.mark.parametrize("command", ["promote", "abort"])
def test_dry_run_and_no_wait(iv, cluster, command):
    dry = iv(command, "news-sentiment", "--dry-run")
    assert (dry.exit_code, cluster.patches) == (0, [])
    assert dry.stdout.startswith("nothing was changed (--dry-run); it would be:\n")
    result = iv(command, "news-sentiment", "--no-wait")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"asked: {command} 2.4.2")
    assert len(cluster.patches) == 1


@pytest.mark.parametrize("command", ["promote", "abort"])
def test_an_operator_that_does_not_answer(iv, cluster, command, monkeypatch):
    monkeypatch.setattr(wait, "SILENCE_S", 0)
    result = iv(command, "news-sentiment", "--timeout", "0.3")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "0 s: the operator has not reacted yet: does it run?" in result.stderr
    assert "but the operator has not reacted within 0.3 s: does it run? kubectl get pods -A" in result.stderr


def test_who_asks_is_left_out_where_nobody_knows(iv, cluster):
    cluster.user = ""
    iv("abort", "news-sentiment", "--no-wait")
    assert asked(cluster)["metadata"]["annotations"][ACTION] == "abort 2.4.2 at=2026-11-30T10:22:00Z"


def no_candidate(endpoint):
    del endpoint["status"]["candidate"]


def starting(endpoint):
    endpoint["status"]["candidate"] = {"version": "2.4.2", "phase": "Starting", "weight": 0}


def not_begun(endpoint):
    del endpoint["status"]["candidate"]["since"]


def first(endpoint):
    del endpoint["status"]["stable"]


@pytest.mark.parametrize(
    ("words", "change", "said"),
    [
        (("promote",), no_candidate, "no release of news-sentiment is under way (stable: 2.4.1; "),
        (("promote", "2.3.0"), no_candidate, "version 2.3.0 failed: kubectl iv rollback news-sentiment 2.3.0 --force insists"),
        (("promote", "2.4.0"), no_candidate, "version 2.4.0 served before: kubectl iv rollback news-sentiment 2.4.0"),
        (("promote", "2.4.1"), no_candidate, "version 2.4.1 serves all requests of news-sentiment already"),
        (("promote", "9.9.9"), no_candidate, "endpoint news-sentiment has no version 9.9.9: there are 2.4.2, 2.4.1"),
        (("promote", "2.4.0"), None, "the candidate of news-sentiment is 2.4.2, not 2.4.0: promote that one"),
        (("promote",), starting, "version 2.4.2 is not in a step yet (starting, no requests yet): ask again when it is"),
        (("abort",), no_candidate, "no release of news-sentiment is under way"),
        (("abort", "2.4.0"), None, "the candidate of news-sentiment is 2.4.2, not 2.4.0: abort that one"),
        (("abort",), first, "no other version serves: there is nothing to go back to (kubectl delete iv news-sentiment-2.4.2"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(iv, cluster, words, change, said):
    if change:
        change(cluster.endpoint())
    command, *rest = words
    result = iv(command, "news-sentiment", *rest)
    assert (result.exit_code, result.stdout, cluster.patches) == (1, "", [])
    assert said in result.stderr
