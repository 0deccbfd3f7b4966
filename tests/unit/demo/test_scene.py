"""What is printed of a release: every change once, with numbers."""

import pytest

from demo.say import dated
from demo.scene import (
    changed_fields,
    condition_lines,
    ending_lines,
    obstacle_lines,
    release_lines,
    releases_with_evidence,
    state_in_words,
)
from inferenceversion_operator.cli.views.status import view_endpoint

SINCE = "2026-11-30T12:00:00Z"


def gate(name, verdict, value=None, bound=None, message=""):
    told = {"name": name, "verdict": verdict, "value": value, "bound": bound, "message": message}
    return {key: text for key, text in told.items() if text is not None}


def endpoint(candidate=None, phase="Progressing", stable="2.4.0", message="is so"):
    status = {"stable": stable, "phase": phase, "candidate": candidate}
    status["conditions"] = [{"type": "Reconciling", "status": "True", "reason": "Progressing", "message": message}]
    return view_endpoint({"metadata": {"name": "news", "namespace": "default"}, "status": status}, ())


def shadow(*gates, since=SINCE):
    return endpoint({"version": "2.4.1", "phase": "Shadow", "weight": 0, "since": since, "gates": list(gates)})


def canary(step, weight, *gates, since=SINCE):
    told = {"version": "2.4.1", "phase": "Canary", "step": step, "weight": weight, "gates": list(gates)}
    return endpoint(told | ({"since": since} if since else {}))


def story(*looks):
    before = [None, *looks]
    return [list(release_lines(earlier, now)) for earlier, now in zip(before, looks, strict=False)]


def test_a_place_is_told_once_with_the_shares():
    starting = endpoint({"version": "2.4.1", "phase": "Starting", "weight": 0})
    assert story(endpoint(), starting, starting, shadow(since=None), shadow(), shadow(), canary(0, 30)) == [
        [],
        ["starting, no requests yet: 2.4.0 has 100 %, 2.4.1 0 %"],
        [],
        ["shadow, copies of requests, getting ready: 2.4.0 has 100 %, 2.4.1 0 %"],
        ["shadow, copies of requests: 2.4.0 has 100 %, 2.4.1 0 %"],
        [],
        ["canary step 1, 30 %: 2.4.0 has 70 %, 2.4.1 30 %"],
    ]


def test_a_share_that_the_gateway_has_not_taken_yet_is_not_told():
    assert story(canary(0, 30), canary(1, 60, since=None), canary(1, 60)) == [
        ["canary step 1, 30 %: 2.4.0 has 70 %, 2.4.1 30 %"],
        [],
        ["canary step 2, 60 %: 2.4.0 has 40 %, 2.4.1 60 %"],
    ]


def test_a_gate_is_told_when_its_verdict_changes_with_value_and_bound():
    few = gate("requests", "Inconclusive", "40", ">= 100")
    enough, p95 = gate("requests", "Pass", "100", ">= 100"), gate("p95", "Pass", "31.5", "<= 1000")
    later = gate("requests", "Pass", "140", ">= 100")
    _, *lines = story(shadow(), shadow(few), shadow(enough, p95), shadow(later, p95), shadow(few, p95))
    assert lines == [
        [],
        ["  pass  requests 100 >= 100, p95 31.5 <= 1000 ms"],
        [],
        ["  unclear again: requests 40 >= 100"],
    ]


def test_each_step_tells_its_gates_anew():
    enough = gate("requests", "Pass", "100", ">= 100")
    *_, last = story(canary(0, 30, enough), canary(1, 60, enough))
    assert last == ["canary step 2, 60 %: 2.4.0 has 40 %, 2.4.1 60 %", "  pass  requests 100 >= 100"]


def test_a_failure_is_told_with_the_gates_own_words_and_what_keeps_serving():
    broken = gate("mismatch", "Fail", "0.98", "<= 0.01", "98 % differ")
    entry = {"version": "2.4.1", "outcome": "Failed", "instead": "2.4.0", "gates": [broken], "message": "98 % differ"}
    assert list(ending_lines(shadow(), entry)) == [
        "  FAIL  mismatch 0.98 <= 0.01: 98 % differ",
        "failed: 2.4.0 keeps all requests",
    ]


def test_the_end_tells_the_gates_of_the_last_look_that_were_not_told_yet():
    entry = {"version": "2.4.1", "outcome": "Promoted", "message": "every gate passed"}
    told, last = gate("p95", "Pass", "30", "<= 1000"), gate("p99", "Pass", "60", "<= 2000")
    lines = list(ending_lines(canary(1, 60, told), entry | {"gates": [told, last]}))
    assert lines == ["  pass  p99 60 <= 2000 ms", "promoted: every gate passed"]


def test_a_failure_without_a_gate_is_told_as_it_is():
    entry = {"version": "2.4.1", "outcome": "Aborted", "message": "aborted by ada"}
    assert list(ending_lines(None, entry)) == ["aborted: aborted by ada"]


def version(*conditions):
    named = [dict(zip(("type", "status", "message"), condition, strict=True)) for condition in conditions]
    return {"status": {"conditions": named}}


def test_a_condition_is_told_when_it_changes_and_only_then():
    loading, loaded = version(("Loaded", "Unknown", "loading")), version(("Loaded", "True", "Triton serves the model"))
    assert list(condition_lines({}, loading)) == []
    assert list(condition_lines(loading, loaded)) == ["Loaded          True     Triton serves the model"]
    assert list(condition_lines(loaded, loaded)) == []
    assert list(condition_lines(loaded, {})) == []


def test_of_a_candidate_that_starts_only_what_is_in_its_way_is_told():
    fine = version(("Ready", "False", "0 of 1"), ("Scheduled", "True", "every pod has a node"))
    stuck = version(("Ready", "False", "0 of 1: no room"), ("Scheduled", "False", "no room"))
    assert list(obstacle_lines({}, fine)) == []
    assert list(obstacle_lines(fine, stuck)) == ["Scheduled       False    no room"]
    assert list(obstacle_lines(stuck, stuck)) == []


def test_releases_with_evidence_are_those_with_steps_the_oldest_first():
    steps = [{"phase": "Shadow", "weight": 0}]
    history = [
        {"version": "2.4.0", "outcome": "Promoted"},
        {"version": "2.4.2", "outcome": "Failed", "steps": steps},
        {"version": "2.4.1", "outcome": "Promoted", "steps": steps},
        {"version": "2.4.0", "outcome": "Promoted"},
    ]
    assert releases_with_evidence(history) == [("2.4.1", "Promoted"), ("2.4.2", "Failed")]
    assert releases_with_evidence([]) == []


def test_what_was_seen_last_names_the_gates_that_are_not_clear():
    few = gate("requests", "Inconclusive", "40", ">= 100", "40 requests, 100 are needed")
    told = state_in_words(shadow(few, gate("p95", "Pass", "30", "<= 1000", "fine")))
    assert told == "endpoint Progressing: is so; gate requests: 40 requests, 100 are needed"
    assert "does the operator run?" in state_in_words(None)


def test_changed_fields_are_those_of_the_snapshot_with_short_digests():
    long = "sha256:" + "ab" * 32
    diff = f"digest: {long} -> {long}\npreprocessor:\n  preprocessor.configHash  {long} -> {long}\ntraffic:\n"
    diff += "  traffic.interval  10s -> 1s   (not in the digest)\n"
    assert changed_fields(diff) == ["preprocessor.configHash  sha256:abababababab -> sha256:abababababab"]


@pytest.mark.parametrize("text", ["Ready", "  pass  " + "requests 100 >= 100, " * 12])
def test_long_lines_are_broken_below_their_text(text):
    first, *rest = dated(12.34, text)
    assert first.startswith("  12.3 s  ")
    assert max(map(len, (first, *rest))) <= 118
    assert all(line.startswith(" " * 12) for line in rest)
