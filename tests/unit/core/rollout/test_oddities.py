"""What nobody does on purpose: hostile lines, numbers without sense, statuses and routes that were edited by hand."""

from dataclasses import replace
from datetime import timedelta

import pytest

from inferenceversion_operator.api.types import Approval, Canary, Gateway, Step, Strategy, Traffic
from inferenceversion_operator.core.conditions import timestamp
from inferenceversion_operator.core.gates.answers import Unanswered
from inferenceversion_operator.core.gates.findings import unanswered
from tests.support.builders import a_version
from tests.unit.core.rollout.conftest import FAIL, PASS, UNCLEAR, says
from tests.unit.core.rollout.stories import CANARY, pass_stage, problems, releasing, serving

GOOD = says(latency=PASS, errors=PASS)
BAD = says(latency=FAIL, errors=PASS)
UNKNOWN = says(latency=PASS, errors=UNCLEAR)


def at_last_step():
    return pass_stage(releasing(CANARY), **GOOD)


def change_steps(world, *steps):
    """Let the author of 2.4.1 change its canary."""
    before = world.versions["sentiment-2.4.1"]
    traffic = replace(before.traffic, canary=Canary(steps))
    world.versions[before.name] = replace(before, traffic=traffic, generation=before.generation + 1)


def edit_status(world, **fields):
    """Let somebody write into the endpoint's status."""
    world.endpoint = replace(world.endpoint, status={**world.endpoint.status, **fields})


def edit_candidate(world, **fields):
    edit_status(world, candidate={**world.candidate, **fields})


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


@pytest.mark.parametrize("weight", [500, -5, 50])
def test_a_weight_that_was_written_into_the_status_moves_no_requests(weight):
    world = releasing(CANARY)
    edit_candidate(world, weight=weight)
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}


@pytest.mark.parametrize("since", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_at_the_end_of_the_calendar_is_written_as_it_is_read(since):
    world = serving()
    world.never_ready.add("2.4.0")
    edit_status(world, stableDownSince=since)
    world.settle()
    assert len(world.endpoint.status["stableDownSince"]) == len("2026-11-30T12:00:00Z")


def test_a_clock_that_goes_back_begins_the_step_anew_and_takes_no_wish_away():
    world = at_last_step()
    world.pass_time(hours=-1).settle()
    assert world.candidate["since"] == timestamp(world.now)
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    world.pass_time(seconds=-1).ask("abort 2.4.1 by=ada").settle()
    assert world.weights == {"2.4.0": 100}
    assert world.history[0] == ("2.4.1", "Aborted", "Aborted")


def test_a_candidate_that_is_replaced_by_other_parts_of_the_same_version_begins_anew():
    world = at_last_step()
    world.prometheus = GOOD
    world.pass_time(seconds=60)
    world.step()
    world.prometheus_answers(world.plan)  # every gate passes, and the next decision would promote it
    other = replace(world.versions["sentiment-2.4.1"], uid="uid-other", digest="sha256:" + "9" * 64, status={})
    world.versions[other.name] = other  # kubectl replace --force: nobody saw it gone
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.candidate["startedAt"] == timestamp(world.now)


def test_a_step_whose_weight_changes_counts_anew():
    world = pass_stage(releasing(CANARY), seconds=59, **GOOD)
    change_steps(world, Step(80, 60, 100))
    world.settle()
    assert world.weights == {"2.4.0": 20, "2.4.1": 80}
    assert world.candidate["since"] == timestamp(world.now)
    world.pass_time(seconds=59).settle()
    assert world.endpoint.status["stable"] == "2.4.0"
    world.pass_time(seconds=1).settle()
    assert world.endpoint.status["stable"] == "2.4.1"


def test_on_hold_nobody_gets_more_requests_for_steps_that_change():
    world = releasing(CANARY)
    world.edit_endpoint(paused=True).settle()
    change_steps(world, Step(80, 60, 100))
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    change_steps(world, Step(2, 60, 100))
    world.settle()
    assert world.weights == {"2.4.0": 98, "2.4.1": 2}
    pass_stage(world, **BAD)
    assert world.weights == {"2.4.0": 100}


def test_abort_works_while_the_pin_names_no_version():
    world = releasing(CANARY)
    world.edit_endpoint(pin="9.9.9").settle()
    world.ask("abort 2.4.1 by=ada").settle()
    assert world.weights == {"2.4.0": 100}
    assert world.history[0] == ("2.4.1", "Aborted", "Aborted")
    assert world.endpoint_condition("Stalled")["reason"] == "VersionNotFound"


def test_a_release_that_settings_hold_back_takes_no_requests_into_a_version_without_pods():
    world = releasing(CANARY)
    world.settings = replace(world.settings, prometheus=False)
    world.never_ready.add("2.4.1")
    world.settle()
    assert world.weights == {"2.4.0": 100}
    assert world.endpoint_condition("Stalled")["reason"] == "PrometheusNotConfigured"


def test_promote_before_the_pods_are_ready_is_kept_until_the_first_step_begins():
    world = serving()
    world.never_ready.add("2.4.1")
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    world.ask("promote 2.4.1 by=ada").settle()
    world.never_ready.clear()
    world.settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    assert world.endpoint.status["observedAction"] == "promote 2.4.1 by=ada"


def test_a_step_begins_when_the_last_of_several_gateways_has_taken_the_route():
    world = serving()
    world.edit_endpoint(gateway=Gateway(({"name": "outside"}, {"name": "inside", "sectionName": "http"}))).settle()
    world.gateway_works = False
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    routes = [obj for (kind, _), obj in world.objects.items() if kind in ("HTTPRoute", "GRPCRoute")]
    world.gateway_works = True
    world.gateway_takes_routes()
    for route in routes:
        route["status"]["parents"].pop()
    world.step()
    assert "since" not in world.candidate
    assert "Gateway inside has not taken the HTTPRoute" in world.endpoint_condition("Reconciling")["message"]
    world.settle()
    assert "since" in world.candidate


def test_what_a_gateway_says_that_the_route_no_longer_names_holds_nothing_up():
    world = serving()
    refused = {"type": "Accepted", "status": "False", "reason": "Refused", "message": "no"}
    gone = {"parentRef": {"name": "gone"}, "conditions": [refused]}
    takes_routes = world.gateway_takes_routes

    def takes_them_beside_one_that_is_gone():
        takes_routes()
        for (kind, _), route in world.objects.items():
            if kind in ("HTTPRoute", "GRPCRoute"):
                route["status"]["parents"].insert(0, gone)

    world.gateway_takes_routes = takes_them_beside_one_that_is_gone
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    assert "since" in world.candidate
    assert world.endpoint_condition("Routed")["status"] == "True"


@pytest.mark.parametrize("rules", [None, [], [{}], [{"backendRefs": []}], [{"matches": [{}]}]])
def test_routes_that_somebody_emptied_are_put_right(rules):
    world = releasing(replace(CANARY, canary=Canary(CANARY.canary.steps, sticky_header="x-session-hash")))
    routes = {key: obj for key, obj in world.objects.items() if key[0] in ("HTTPRoute", "GRPCRoute")}
    whole = {key: route["spec"] for key, route in routes.items()}
    edit_candidate(world, since=None)  # whether the routes lead there is looked at before a step begins
    _empty(routes, rules)
    world.settle()
    assert {key: world.objects[key]["spec"] for key in routes} == whole
    _empty({key: world.objects[key] for key in routes}, rules)
    world.ask("abort 2.4.1").settle()
    assert world.weights == {"2.4.0": 100}
    assert not any(name.endswith("-sticky") for _, name in world.objects)


def _empty(routes, rules):
    for route in routes.values():
        rest = {name: value for name, value in route["spec"].items() if name != "rules"}
        route["spec"] = rest if rules is None else {**rest, "rules": rules}


def test_a_step_that_can_not_begin_is_told_in_time_and_goes_on_by_itself():
    world = serving()
    world.gateway_works = False
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    world.pass_time(seconds=899).settle()
    assert world.endpoint_condition("Stalled") is None
    assert world.plan.recheck_at == world.now + timedelta(seconds=1)
    world.pass_time(seconds=1).settle()
    told = world.endpoint_condition("Stalled")
    assert told["reason"] == "StepNotBegun"
    assert "has not seen the HTTPRoute" in told["message"]
    world.gateway_works = True
    world.settle()
    assert world.endpoint_condition("Stalled") is None
    assert world.candidate["since"] == timestamp(world.now)


def lose_pods(world, every):
    """Let the candidate lose its pods once more and get them back, so many seconds after it had them."""
    world.pass_time(seconds=every)
    world.never_ready.add("2.4.1")
    world.settle()
    world.never_ready.clear()
    world.settle()


def test_a_candidate_that_falls_over_again_and_again_fails():
    world = releasing(CANARY)
    for _ in range(4):
        lose_pods(world, every=50)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert len(world.candidate["steps"]) == 5, "every beginning is told"
    lose_pods(world, every=50)
    assert world.weights == {"2.4.0": 100}
    assert world.history[0] == ("2.4.1", "Failed", "NotReady")
    assert "lost its pods 5 times within an hour" in world.endpoint.status["history"][0]["message"]


def test_pods_that_are_moved_now_and_then_do_not_fail_a_step_that_lasts():
    world = releasing(CANARY)
    for _ in range(40):
        lose_pods(world, every=901)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert problems(world) == []


def test_half_a_character_that_a_server_says_is_stored_as_it_comes_back():
    """Else the status would never be as it was written, and be written again and again."""
    told = unanswered("mine", Unanswered("BadQuery", "no \ud83d here"))
    assert told.message == "no ? here"


def test_pods_that_are_lost_after_a_long_wait_for_something_else_have_their_own_time():
    world = serving()
    world.gateway_works = False
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    world.pass_time(seconds=1000).settle()
    world.never_ready.add("2.4.1")
    world.settle()
    assert world.candidate["waitingSince"] == timestamp(world.now)
    world.pass_time(seconds=899).settle()
    assert world.candidate["waitingSince"] == timestamp(world.now - timedelta(seconds=899))
    world.pass_time(seconds=1).settle()
    assert world.history[0] == ("2.4.1", "Failed", "NotReady")


def test_a_step_whose_route_went_with_the_gateway_begins_anew():
    world = pass_stage(releasing(CANARY), seconds=59, **GOOD)
    settings, world.settings = world.settings, replace(world.settings, gateway_parent_refs=())
    world.settle()
    assert world.versions["sentiment-2.4.1"].status["weight"] == 0
    world.settings = settings
    world.pass_time(seconds=60).settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.candidate["since"] == timestamp(world.now)


def test_silence_is_a_yes_only_to_gates_that_pass_now():
    silence = Traffic(Strategy.CANARY, canary=Canary((Step(5, 60, 0, Approval(600, "Promote")),)))
    world = pass_stage(releasing(silence), **GOOD)
    world.prometheus_works = False  # and not even says so
    world.pass_time(seconds=600).settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    world.prometheus_works = True
    world.settle()
    assert world.weights == {"2.4.1": 100}
