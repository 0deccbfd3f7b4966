"""Releases by steps as stories: what serves at each moment, and what makes a release go on, hold or end."""

from dataclasses import replace
from datetime import timedelta

import pytest

from inferenceversion_operator.api.names import differ_name
from inferenceversion_operator.api.types import Canary, Gate, Step, Strategy, Traffic
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.core.gates.answers import Unanswered
from tests.support.builders import ENDPOINT, SETTINGS, a_version
from tests.support.world import START, World
from tests.unit.core.rollout.conftest import FAIL, PASS, UNCLEAR, says
from tests.unit.core.rollout.stories import APPROVED, BOTH, CANARY, SHADOW, STEPS, pass_stage, releasing, serving

GOOD = says(latency=PASS, errors=PASS)
BAD = says(latency=FAIL, errors=PASS)
NO_DATA = says(latency=UNCLEAR, errors=PASS)


def at_last_step():
    return pass_stage(releasing(CANARY), **GOOD)


# --- the way through


def test_a_canary_goes_through_its_steps_and_is_stable_in_the_end():
    world = releasing(CANARY)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.endpoint.status["phase"] == "Canary"
    pass_stage(world, **GOOD)
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    assert world.candidate["step"] == 1
    pass_stage(world, **GOOD)
    assert world.weights == {"2.4.1": 100}
    assert world.roles() == {"2.4.0": "Warm", "2.4.1": "Stable"}
    assert world.candidate is None
    assert world.history[0] == ("2.4.1", "Promoted", "GatesPassed")


def test_no_step_is_shorter_than_its_minimum_duration():
    world = releasing(CANARY)
    pass_stage(world, seconds=59, **GOOD)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    pass_stage(world, seconds=1, **GOOD)
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_the_gates_are_asked_again_when_the_minimum_duration_is_over():
    """A look from before says nothing of the rest of the step."""
    world = releasing(CANARY)
    pass_stage(world, seconds=55, **GOOD)
    world.prometheus_works = False
    pass_stage(world, seconds=5, **GOOD)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    world.prometheus_works = True
    world.settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_a_shadow_copies_requests_and_gives_the_candidate_none():
    world = releasing(SHADOW)
    assert world.weights == {"2.4.0": 100}
    assert world.mirrored == 20
    assert world.endpoint.status["phase"] == "Shadow"
    assert ("Deployment", differ_name(ENDPOINT)) in world.objects
    pass_stage(world, **GOOD)
    assert world.weights == {"2.4.1": 100}
    assert world.mirrored == 0
    assert ("Deployment", differ_name(ENDPOINT)) not in world.objects


def test_nothing_is_copied_before_the_differ_is_ready():
    world = serving().apply(a_version("2.4.1", traffic=SHADOW))
    world.never_ready.add(None)  # the differ has no version
    world.settle()
    assert world.mirrored == 0
    assert "differ" in world.endpoint_condition("Ready")["message"]
    world.never_ready.clear()
    world.settle()
    assert world.mirrored == 20


def test_a_shadow_and_then_a_canary():
    world = releasing(BOTH)
    assert world.endpoint.status["phase"] == "Shadow"
    pass_stage(world, **GOOD)
    assert (world.endpoint.status["phase"], world.weights["2.4.1"], world.mirrored) == ("Canary", 5, 0)
    pass_stage(world, **GOOD)
    pass_stage(world, **GOOD)
    assert world.weights == {"2.4.1": 100}
    assert [step["phase"] for step in world.endpoint.status["history"][0]["steps"]] == ["Shadow", "Canary", "Canary"]


def test_a_version_that_was_stable_before_goes_through_no_steps():
    world = at_last_step()
    pass_stage(world, **GOOD)
    world.edit_endpoint(pin="2.4.0")
    world.step()
    assert world.weights == {"2.4.0": 100}
    world.edit_endpoint(pin=None)
    world.step()
    world.step()
    assert world.weights == {"2.4.1": 100}
    assert world.history[0] == ("2.4.1", "Promoted", "ServedBefore")


def test_a_version_that_is_made_anew_from_other_parts_was_never_stable():
    world = at_last_step()
    pass_stage(world, **GOOD)
    world.edit_endpoint(pin="2.4.0").settle()
    world.delete("2.4.1")
    world.settle()
    world.edit_endpoint(pin=None).apply(a_version("2.4.1", traffic=CANARY, digest="sha256:other", uid="uid-anew"))
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}


# --- capacity and the Gateway before traffic


def test_no_weight_moves_before_the_candidate_is_ready():
    world = serving().apply(a_version("2.4.1", traffic=CANARY)).settle(ready=False)
    assert world.weights == {"2.4.0": 100}
    assert world.endpoint.status["phase"] == "Progressing"
    world.settle()
    assert world.weights["2.4.1"] == 5


def test_a_candidate_that_never_gets_ready_fails_and_traffic_was_never_touched():
    world = serving()
    world.never_ready.add("2.4.1")
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    world.pass_time(seconds=SETTINGS.ready_deadline_s + 1).settle()
    assert world.history[0] == ("2.4.1", "Failed", "NotReady")
    assert all(set(split) == {"2.4.0"} for split in world.split_log)


def test_a_candidate_that_loses_its_pods_loses_its_share_and_begins_the_step_anew():
    world = at_last_step()
    began = world.candidate["since"]
    world.never_ready.add("2.4.1")
    world.pass_time(seconds=20).settle()
    assert world.weights == {"2.4.0": 100}
    assert world.candidate["step"] == 1
    world.never_ready.clear()
    world.pass_time(seconds=20).settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    assert world.candidate["since"] > began


def test_a_candidate_whose_pods_do_not_come_back_fails():
    world = at_last_step()
    world.never_ready.add("2.4.1")
    world.settle()
    world.pass_time(seconds=SETTINGS.ready_deadline_s + 1).settle()
    assert world.history[0] == ("2.4.1", "Failed", "NotReady")


def test_one_pod_that_is_replaced_takes_no_share_away():
    four = replace(a_version("2.4.1").autoscaling, min_replicas=4)
    world = serving().apply(a_version("2.4.1", traffic=CANARY, autoscaling=four)).settle()
    deployment = next(o for k, o in world.objects.items() if k[0] == "Deployment" and "2-4-1" in k[1])
    deployment["status"]["readyReplicas"] = 3
    world.step()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}


def test_a_step_counts_only_from_when_the_gateway_has_taken_the_route():
    world = serving()
    world.gateway_works = False
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    world.prometheus = GOOD
    world.pass_time(minutes=10).settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert "since" not in world.candidate
    assert "has not seen the HTTPRoute" in world.endpoint_condition("Ready")["message"]
    world.gateway_works = True
    world.settle()
    assert world.candidate["since"] == "2026-11-30T12:10:00Z"
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}


def test_who_loses_requests_keeps_its_pods_until_the_gateway_has_taken_the_route():
    world = at_last_step()
    world.gateway_works = False
    world.ask("abort 2.4.1").settle()
    assert world.weights == {"2.4.0": 100}
    assert world.replicas("2.4.1") == 1
    world.gateway_works = True
    world.settle()
    assert world.replicas("2.4.1") == 0


# --- gates


@pytest.mark.parametrize("traffic", [CANARY, SHADOW, BOTH])
def test_a_gate_that_fails_gives_all_requests_back_at_once(traffic):
    world = releasing(traffic)
    world.prometheus = BAD
    world.pass_time(seconds=10)
    world.step()
    world.prometheus_answers(world.plan)
    world.step()
    assert world.weights == {"2.4.0": 100}
    assert world.mirrored == 0
    world.settle()
    assert world.roles() == {"2.4.0": "Stable", "2.4.1": "Failed"}
    assert world.replicas("2.4.1") == 0
    assert world.history[0] == ("2.4.1", "Failed", "GateFailed")
    told = world.condition("2.4.1", "Failed")["message"]
    assert "gate latency: latency says Fail" in told
    assert told.startswith(("in the shadow: ", "at 5 % (step 1 of "))  # where it was, not where it is
    assert [gate["verdict"] for gate in world.endpoint.status["history"][0]["gates"]] == ["Fail", "Pass"]


def test_a_version_that_failed_its_gates_is_not_tried_again_by_itself():
    world = releasing(CANARY)
    pass_stage(world, seconds=10, **BAD)
    pass_stage(world, seconds=9999, **GOOD)
    assert world.weights == {"2.4.0": 100}
    assert world.roles()["2.4.1"] == "Failed"


def test_too_little_data_holds_and_in_time_says_so_and_goes_on_when_there_is():
    world = releasing(CANARY)
    pass_stage(world, seconds=60, **NO_DATA)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.endpoint_condition("Stalled") is None
    for _ in range(31):
        pass_stage(world, seconds=10, **NO_DATA)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.endpoint_condition("Stalled")["reason"] == "GatesInconclusive"
    assert "gate latency not clear" in world.endpoint_condition("Stalled")["message"]
    pass_stage(world, seconds=10, **GOOD)
    assert world.endpoint_condition("Stalled") is None
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_prometheus_that_ends_in_the_middle_holds_the_release():
    world = releasing(CANARY)
    world.prometheus_works = False
    pass_stage(world, seconds=600, **GOOD)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    world.prometheus_works = True
    world.settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_a_query_that_prometheus_refuses_is_said_before_any_request_moves():
    world = serving()
    world.prometheus = {"latency": Unanswered("BadQuery", "gate mine: parse error: unexpected )")}
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    assert world.weights == {"2.4.0": 100}
    assert world.endpoint_condition("Stalled")["reason"] == "BadQuery"
    assert "unexpected )" in world.condition("2.4.1", "Stalled")["message"]
    world.prometheus = {}
    mended = replace(CANARY, gates=(Gate("mine", "up", minimum=1),))
    world.apply(a_version("2.4.1", traffic=mended, generation=2, status=world.versions["sentiment-2.4.1"].status))
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}


def test_the_operator_without_prometheus_holds_a_canary_and_says_what_to_set():
    world = World(replace(SETTINGS, prometheus=False)).apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    assert world.weights == {"2.4.0": 100}
    assert world.endpoint_condition("Stalled")["reason"] == "PrometheusNotConfigured"
    assert "prometheus.url" in world.condition("2.4.1", "Stalled")["message"]


def test_an_endpoint_without_gateway_holds_a_canary_and_says_what_to_set():
    world = World(replace(SETTINGS, gateway_parent_refs=())).apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    assert world.replicas("2.4.1") is None
    assert world.endpoint_condition("Stalled")["reason"] == "GatewayRequired"


# --- stable that is no baseline


def test_a_broken_stable_version_is_no_baseline_so_the_fix_goes_straight_in():
    world = serving()
    world.never_ready.add("2.4.0")
    world.settle()
    world.pass_time(minutes=1).apply(a_version("2.4.1", traffic=BOTH)).settle()
    assert world.weights == {"2.4.1": 100}
    assert world.history[0] == ("2.4.1", "Promoted", "StableBroken")


def test_stable_that_breaks_in_the_middle_is_replaced_by_the_candidate_that_is_ready():
    world = releasing(CANARY)
    world.never_ready.add("2.4.0")
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert decide(world.look(), world.now).recheck_at == START + timedelta(seconds=10)
    world.pass_time(seconds=30).settle()
    assert world.weights == {"2.4.1": 100}
    assert world.history[0] == ("2.4.1", "Promoted", "StableBroken")


def test_stable_whose_pod_is_moved_to_another_node_is_not_broken():
    world = releasing(SHADOW)
    world.never_ready.add("2.4.0")
    world.pass_time(seconds=9).settle()
    world.never_ready.clear()
    world.pass_time(seconds=29).settle()
    world.never_ready.add("2.4.0")
    world.pass_time(seconds=25).settle()
    assert world.weights == {"2.4.0": 100}
    assert world.endpoint.status["stable"] == "2.4.0"


def test_stable_that_is_deleted_in_the_middle_is_replaced_by_the_candidate():
    world = releasing(CANARY)
    world.delete("2.4.0")
    world.settle()
    assert world.weights == {"2.4.1": 100}
    assert world.history[0] == ("2.4.1", "Promoted", "StableGone")


def test_the_first_version_goes_straight_in_and_so_does_its_fix_while_it_never_served():
    world = World()
    world.never_ready.add("2.4.0")
    world.apply(a_version("2.4.0", traffic=CANARY)).settle()
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    assert world.weights == {"2.4.1": 100}


# --- others come in between


def test_a_newer_version_supersedes_the_candidate_and_never_a_third_one_serves():
    world = at_last_step()
    world.apply(a_version("2.4.2", traffic=CANARY))
    world.step()
    assert world.weights == {"2.4.0": 100}
    world.settle()
    assert world.weights == {"2.4.0": 95, "2.4.2": 5}
    assert world.history[0] == ("2.4.1", "Superseded", "Superseded")
    assert world.replicas("2.4.1") is None
    assert all(len(split) <= 2 for split in world.split_log)


def test_a_pin_on_stable_ends_the_release_and_its_removal_begins_it_anew():
    world = at_last_step()
    world.edit_endpoint(pin="2.4.0").settle()
    assert world.weights == {"2.4.0": 100}
    assert world.history[0][:2] == ("2.4.1", "Superseded")
    world.edit_endpoint(pin=None).settle()
    assert world.candidate["step"] == 0


def test_a_pin_on_a_new_version_releases_it_by_its_steps():
    world = serving()
    world.apply(a_version("2.3.0", traffic=CANARY)).settle()
    world.edit_endpoint(pin="2.3.0").settle()
    assert world.weights == {"2.4.0": 95, "2.3.0": 5}


def test_a_pinned_version_that_fails_its_gates_is_tried_once_a_change_of_the_pin():
    world = releasing(CANARY)
    pass_stage(world, seconds=10, **BAD)
    world.prometheus = {}
    world.edit_endpoint(pin="2.4.1").settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    pass_stage(world, seconds=10, **BAD)
    pass_stage(world, seconds=9999, **GOOD)
    assert world.weights == {"2.4.0": 100}
    assert world.endpoint_condition("Stalled")["reason"] == "PinnedVersionFailed"
    assert len([entry for entry in world.history if entry[1] == "Failed"]) == 2
    world.edit_endpoint(paused=True).settle()
    world.edit_endpoint(paused=False).settle()
    assert world.weights == {"2.4.0": 100}
    world.ask("promote 2.4.1 skip-steps").settle()
    assert world.weights == {"2.4.1": 100}


def test_a_pin_on_nothing_neither_ends_the_release_nor_leads_it_on():
    world = releasing(CANARY).edit_endpoint(pin="9.9.9").settle()
    pass_stage(world, seconds=60, **GOOD)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.endpoint_condition("Stalled")["reason"] == "VersionNotFound"
    told = [(e.regarding.kind, e.reason) for e in world.events if e.type == "Warning"]
    assert told == [("InferenceEndpoint", "VersionNotFound"), ("InferenceVersion", "VersionNotFound")]
    pass_stage(world, seconds=10, **BAD)
    assert world.weights == {"2.4.0": 100}


def test_settings_that_vanish_in_the_middle_hold_the_release_where_it_is():
    world = at_last_step()
    world.settings = replace(SETTINGS, prometheus=False)
    world.settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    assert world.endpoint_condition("Stalled")["reason"] == "PrometheusNotConfigured"
    world.settings = SETTINGS
    pass_stage(world, **GOOD)
    assert world.weights == {"2.4.1": 100}


def test_whoever_served_is_known_however_many_releases_failed_since():
    world = serving()
    world.apply(a_version("2.4.1")).settle()
    for number in range(15):
        world.apply(a_version(f"2.5.{number}", traffic=CANARY)).settle()
        world.ask(f"abort 2.5.{number}").settle()
    assert world.roles()["2.4.0"] == "Warm"
    assert len(world.history) <= 12
    world.edit_endpoint(pin="2.4.0")
    world.step()
    assert world.weights == {"2.4.0": 100}


def test_steps_that_change_under_a_release_are_followed():
    world = at_last_step()
    fewer = replace(CANARY, canary=Canary((Step(10, 60, 100),)))
    live = world.versions["sentiment-2.4.1"]
    world.apply(replace(live, traffic=fewer, generation=2)).settle()
    assert world.weights == {"2.4.0": 90, "2.4.1": 10}
    world.apply(replace(world.versions["sentiment-2.4.1"], traffic=Traffic(Strategy.IMMEDIATE), generation=3)).settle()
    assert world.weights == {"2.4.1": 100}


# --- what people do


def test_the_failure_of_its_fix_brings_no_version_back_that_a_rollback_left():
    world = at_last_step()
    pass_stage(world, **GOOD)
    world.edit_endpoint(pin="2.4.0").settle()
    world.apply(a_version("2.4.2", traffic=CANARY)).edit_endpoint(pin=None).settle()
    assert world.weights == {"2.4.0": 95, "2.4.2": 5}
    pass_stage(world, seconds=10, **BAD)
    assert world.weights == {"2.4.0": 100}
    world.edit_endpoint(pin="2.4.1").settle()
    assert world.weights == {"2.4.1": 100}


def test_pause_stops_advancing():
    world = releasing(CANARY).edit_endpoint(paused=True)
    pass_stage(world, seconds=999, **GOOD)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    world.edit_endpoint(paused=False).settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_what_a_pause_holds_back_is_named_on_both_objects():
    world = serving().edit_endpoint(paused=True).apply(a_version("2.4.1", traffic=CANARY)).settle()
    assert world.endpoint_condition("Ready")["reason"] == "Paused"
    assert "paused: version 2.4.1 waits" in world.endpoint_condition("Ready")["message"]
    assert "kubectl iv resume sentiment" in world.condition("2.4.1", "Ready")["message"]


def test_a_stable_version_without_pods_is_said_in_the_middle_of_a_canary():
    world = releasing(CANARY)
    world.never_ready.add("2.4.0")
    world.settle()
    assert "2.4.0: 0 of 1 replicas ready; requests fail" in world.endpoint_condition("Ready")["message"]


def test_pause_does_not_stop_protecting():
    world = releasing(CANARY).edit_endpoint(paused=True)
    pass_stage(world, seconds=999, **GOOD)
    pass_stage(world, seconds=10, **BAD)
    assert world.weights == {"2.4.0": 100}
    assert world.history[0][1] == "Failed"


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("traffic", [CANARY, SHADOW])
@pytest.mark.parametrize("ready", [False, True])
def test_abort_works_in_every_phase(traffic, ready, paused):
    world = serving().apply(a_version("2.4.1", traffic=traffic)).settle(ready=ready)
    world.edit_endpoint(paused=paused).settle(ready=ready)
    world.ask("abort 2.4.1 by=ada").settle()
    assert world.weights == {"2.4.0": 100}
    assert world.mirrored == 0
    assert world.history[0] == ("2.4.1", "Aborted", "Aborted")
    assert world.endpoint.status["history"][0]["by"] == "ada"
    assert world.condition("2.4.1", "Failed")["reason"] == "Aborted"


def test_promote_ends_a_step_before_its_time_once():
    world = releasing(CANARY)
    world.ask("promote 2.4.1 step=0 by=ada").settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    assert world.endpoint.status["observedAction"] == "promote 2.4.1 step=0 by=ada"
    world.pass_time(seconds=30).settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_two_people_who_promote_one_step_do_not_skip_two():
    world = releasing(CANARY)
    world.ask("promote 2.4.1 step=0 by=ada").settle()
    world.ask("promote 2.4.1 step=0 by=bob").settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_promote_before_the_step_began_is_kept_until_it_does():
    world = serving()
    world.gateway_works = False
    world.apply(a_version("2.4.1", traffic=CANARY)).settle()
    world.ask("promote 2.4.1 step=0").settle()
    assert "observedAction" not in world.endpoint.status
    world.gateway_works = True
    world.settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}
    assert world.endpoint.status["observedAction"] == "promote 2.4.1 step=0"


def test_promote_does_not_override_a_gate_that_fails():
    world = releasing(CANARY)
    world.prometheus = BAD
    world.pass_time(seconds=10)
    world.step()
    world.prometheus_answers(world.plan)
    world.ask("promote 2.4.1").settle()
    assert world.weights == {"2.4.0": 100}


def test_promote_with_skip_steps_takes_all_at_once_and_is_recorded():
    world = releasing(BOTH).ask("promote 2.4.1 skip-steps by=ada").settle()
    assert world.weights == {"2.4.1": 100}
    assert world.history[0] == ("2.4.1", "Promoted", "StepsSkipped")
    assert "by ada" in world.endpoint.status["history"][0]["message"]


def test_skip_steps_asked_before_the_pods_are_ready_is_not_forgotten():
    world = serving().apply(a_version("2.4.1", traffic=CANARY)).settle(ready=False)
    world.ask("promote 2.4.1 skip-steps").settle(ready=False)
    assert world.weights == {"2.4.0": 100}
    world.settle()
    assert world.weights == {"2.4.1": 100}


@pytest.mark.parametrize(
    "action", ["promote 9.9.9", "abort 2.4.0", "promote", "rm -rf /", "promote 2.4.1 step=7", "promote 2.4.1 step=x"]
)
def test_an_action_about_nothing_does_nothing_now_and_later(action):
    world = releasing(CANARY).ask(action).settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert world.endpoint.status["observedAction"] == action
    world.apply(a_version("9.9.9", traffic=CANARY)).settle()
    assert world.weights == {"2.4.0": 95, "9.9.9": 5}


def test_an_action_that_was_acted_on_does_not_hit_a_later_release():
    world = releasing(CANARY).ask("abort 2.4.1").settle()
    world.edit_endpoint(pin="2.4.1").settle()
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}


def test_a_step_with_approval_waits_for_a_person():
    world = releasing(APPROVED)
    pass_stage(world, seconds=60, **GOOD)
    assert world.weights == {"2.4.0": 95, "2.4.1": 5}
    assert "kubectl iv promote sentiment 2.4.1" in world.endpoint_condition("Ready")["message"]
    pass_stage(world, seconds=300, **GOOD)
    world.ask("promote 2.4.1").settle()
    assert world.weights == {"2.4.0": 50, "2.4.1": 50}


def test_an_approval_that_nobody_gives_fails_by_default():
    world = releasing(APPROVED)
    pass_stage(world, seconds=60, **GOOD)
    pass_stage(world, seconds=601, **GOOD)
    assert world.weights == {"2.4.0": 100}
    assert world.history[0] == ("2.4.1", "Failed", "NotApproved")


def test_while_approval_is_awaited_a_gate_that_fails_rolls_back():
    world = releasing(APPROVED)
    pass_stage(world, seconds=60, **GOOD)
    pass_stage(world, seconds=10, **BAD)
    assert world.weights == {"2.4.0": 100}
    assert world.history[0] == ("2.4.1", "Failed", "GateFailed")


def test_sessions_have_a_route_of_their_own_during_the_canary_only():
    sticky = replace(CANARY, canary=Canary(STEPS, sticky_header="x-session-hash"))
    world = releasing(sticky)
    routes = [key for key in world.objects if key[0] == "HTTPRoute" and key[1].endswith("-sticky")]
    assert len(routes) == 1
    backends = [rule["backendRefs"][0]["name"] for rule in world.objects[routes[0]]["spec"]["rules"]]
    assert len(set(backends)) == 2
    world.prometheus = BAD
    world.pass_time(seconds=10).settle()
    assert not any(key[1].endswith("-sticky") for key in world.objects)


def test_what_happens_is_told_as_events_once():
    world = at_last_step()
    pass_stage(world, **GOOD)
    told = [event.reason for event in world.events]
    assert told == ["Promoted", "StepStarted", "StepStarted", "Promoted"]


def test_a_candidate_on_its_way_is_neither_ready_nor_stalled():
    world = releasing(CANARY)
    assert world.condition("2.4.1", "Ready")["status"] == "False"
    assert world.condition("2.4.1", "Reconciling")["reason"] == "Canary"
    assert world.versions["sentiment-2.4.1"].status["weight"] == 5
    assert world.versions["sentiment-2.4.0"].status["weight"] == 95
    assert "step 1 of 2" in world.endpoint_condition("Ready")["message"]
    assert world.now == START
