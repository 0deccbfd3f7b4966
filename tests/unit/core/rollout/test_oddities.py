"""What nobody does on purpose: hostile lines, numbers without sense, statuses and routes that were edited by hand."""

from dataclasses import replace
from datetime import timedelta

import pytest

from inferenceversion_operator.api.shape import check_shape
from tests.unit.core.rollout.conftest import PASS, UNCLEAR, says
from tests.unit.core.rollout.stories import CANARY, pass_stage, releasing

UNKNOWN = says(latency=PASS, errors=UNCLEAR)


def edit_status(world, **fields):
    """Let somebody write into the endpoint's status."""
    world.endpoint = replace(world.endpoint, status={**world.endpoint.status, **fields})


def edit_candidate(world, **fields):
    edit_status(world, candidate={**world.candidate, **fields})


def problems(world):
    """Return what the API server would have against the statuses."""
    spec = {"spec": {}, "metadata": {"name": world.endpoint.name}}
    of_endpoint = check_shape("InferenceEndpoint", {**spec, "status": world.endpoint.status}).problems
    told = [problem for problem in of_endpoint if problem.field.startswith("status")]
    for version in world.versions.values():
        found = check_shape("InferenceVersion", {"status": version.status}).problems
        told += [problem for problem in found if problem.field.startswith("status")]
    return told


@pytest.mark.parametrize("line", ["promote 2.4.1", "promote 2.4.1 skip-steps", "abort 2.4.1"])
def test_however_long_the_name_of_who_asks_is_the_status_takes_it(line):
    world = releasing(CANARY)
    world.ask(f"{line} by={'x' * 400}").settle()
    assert problems(world) == []
    told = world.candidate or world.endpoint.status["history"][0]
    assert told["by"] == "x" * 253


def test_patience_beyond_the_end_of_the_calendar_is_patience():
    endless = replace(CANARY, interval_s=99999 * 3600, max_inconclusive=10_000)
    world = pass_stage(releasing(endless), **UNKNOWN)
    world.pass_time(days=10_000).settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.endpoint_condition("Stalled") is None


def test_a_gate_without_a_message_in_the_status_is_no_end():
    world = pass_stage(releasing(CANARY), **UNKNOWN)
    edit_candidate(world, gates=[{"name": "errors", "verdict": "Inconclusive"}])
    world.measured = None
    world.settle()
    world.pass_time(seconds=10).settle()
    assert world.candidate["gates"][1]["message"] == "errors says Inconclusive"


def test_an_interval_of_a_millisecond_does_not_keep_prometheus_busy():
    world = releasing(replace(CANARY, interval_s=0.001))
    looks = 0
    for _ in range(500):  # ten seconds in which every answer comes at once
        world.step()
        looks += world.prometheus_answers(world.plan)
        world.pass_time(milliseconds=20)
    assert 5 <= looks <= 12
    assert world.plan.recheck_at is None or world.plan.recheck_at > world.now - timedelta(seconds=1)
