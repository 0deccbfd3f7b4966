"""What measurements of releases are reduced to."""

import doctest

import pytest

from bench import releases_numbers
from bench.releases_numbers import in_turns, moved, share_of_hashes, split, spread, steps_took
from bench.releases_rollback import _leads_to
from bench.releases_shadow import _sum


def test_the_examples_in_its_docstrings_are_true():
    assert doctest.testmod(releases_numbers).failed == 0


def test_nothing_measured_is_no_number():
    assert spread([]) == {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0, "of": 0}
    assert split({}, "1.1.0", 5)["requests"] == 0


def test_a_candidate_that_nobody_reached_is_off_by_its_whole_weight():
    assert split({"1.0.0": 100}, "1.1.0", 5)["error"] == -5


def test_a_step_shorter_than_its_minimum_shows_as_less_than_nothing():
    found = steps_took(entered=[0.0, 6.0], begun=[1.0, 7.0], promoted=11.5, minimum=5)
    assert found == {
        "total": 11.5,
        "minimum": 10,
        "over_per_step": 0.75,
        "until_it_counts": [1.0, 1.0],
        "until_it_passed": [0.0, -0.5],
    }


def test_a_session_that_came_to_the_candidate_and_left_it_has_moved():
    before = {"a": "1.1.0", "b": "1.0.0"}
    assert moved(before, {"a": "1.1.0", "b": "1.1.0"}, to="1.1.0") == []
    assert moved(before, {"a": "1.0.0", "b": "1.0.0", "new": "1.0.0"}, to="1.1.0") == ["a"]


@pytest.mark.parametrize(("weight", "share"), [(1, 1.17), (5, 5.08), (50, 50.0), (100, 100.0)])
def test_every_hash_once_is_the_share_of_the_values(weight, share):
    assert share_of_hashes([f"{value:02x}" for value in range(256)], weight) == share


def test_turns_are_as_many_for_each():
    turns = list(in_turns(["plain", "mirrored"], 5))
    assert turns.count("plain") == turns.count("mirrored") == 5


def test_a_backend_without_weight_gets_requests_and_one_of_weight_0_none():
    refs = [{"name": "old", "weight": 0}, {"name": "new"}]
    assert _leads_to({"spec": {"rules": [{"backendRefs": refs}, {"backendRefs": [{"name": "named"}]}]}}) == {"new"}


def test_a_counter_is_summed_over_its_labels_and_no_other_is_taken_for_it():
    metrics = """\
# TYPE inference_shadow_dropped_total counter
inference_shadow_dropped_total{reason="queue"} 2.0
inference_shadow_dropped_total{reason="size"} 3.0
inference_shadow_received_total 7.0
inference_shadow_noise_compared_total 5.0
"""
    assert (_sum(metrics, "dropped"), _sum(metrics, "received"), _sum(metrics, "compared")) == (5, 7, 0)
