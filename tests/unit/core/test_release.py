"""Strategy Immediate as stories: what serves, who is what, and what a killed operator leaves behind."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import Canary, Step, Strategy, Traffic
from inferenceversion_operator.core.decide import decide
from tests.support.builders import SETTINGS, a_version, an_endpoint
from tests.support.world import Crash, World


def two_versions():
    world = World().apply(a_version("2.4.0")).settle()
    return world.apply(a_version("2.4.1")).settle()


def test_the_first_version_makes_its_endpoint_and_serves():
    world = World().apply(a_version("2.4.0")).settle()
    assert world.serving == "2.4.0"
    assert world.roles() == {"2.4.0": "Stable"}
    assert world.endpoint_condition("Ready")["status"] == "True"
    assert {kind for kind, _ in world.objects} - {"EndpointSlice"} == {
        "ConfigMap",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "HTTPRoute",
        "GRPCRoute",
    }


def test_nothing_is_routed_before_the_first_version_is_ready():
    world = World().apply(a_version("2.4.0")).settle(ready=False)
    assert world.serving is None
    assert world.roles() == {"2.4.0": "Candidate"}


def test_a_newer_version_takes_over_when_it_is_ready_and_the_old_one_stays_warm():
    world = World().apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1")).settle(ready=False)
    assert world.serving == "2.4.0"
    assert world.roles() == {"2.4.0": "Stable", "2.4.1": "Candidate"}
    world.settle()
    assert world.serving == "2.4.1"
    assert world.roles() == {"2.4.0": "Warm", "2.4.1": "Stable"}
    assert world.replicas("2.4.0") == 1


def test_traffic_waits_until_the_new_pods_addresses_are_known():
    world = World().apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1")).settle(ready=False)
    world.pods_become_ready()
    name = version_name("sentiment-2.4.1")
    addresses = world.objects.pop(("EndpointSlice", name))
    world.step()
    assert world.serving == "2.4.0"
    world.objects["EndpointSlice", name] = addresses
    world.step()
    assert world.serving == "2.4.1"


def test_versions_applied_together_release_the_highest_alone():
    world = World().apply(a_version("2.4.0"), a_version("2.10.0"), a_version("2.9.0")).settle()
    assert world.serving == "2.10.0"
    assert world.roles() == {"2.4.0": "Idle", "2.10.0": "Stable", "2.9.0": "Idle"}
    assert world.replicas("2.9.0") is None


def test_a_prerelease_is_lower_than_its_release():
    world = World().apply(a_version("2.4.0"), a_version("2.4.0-rc.1")).settle()
    assert world.serving == "2.4.0"


def test_a_prerelease_takes_over_only_where_it_is_pinned():
    world = World().apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.5.0-rc.1")).settle()
    assert world.serving == "2.4.0"
    assert "only where it is pinned" in world.condition("2.5.0-rc.1", "Ready")["message"]
    world.edit_endpoint(pin="2.5.0-rc.1").settle()
    assert world.serving == "2.5.0-rc.1"
    world.edit_endpoint(pin=None).settle()
    assert world.serving == "2.4.0"


def test_while_there_is_no_release_the_highest_prerelease_serves():
    world = World().apply(a_version("2.5.0-rc.1"), a_version("2.5.0-rc.2")).settle()
    assert world.serving == "2.5.0-rc.2"
    world.apply(a_version("2.5.0")).settle()
    assert world.serving == "2.5.0"


def test_a_version_behind_one_that_is_held_names_that_one():
    canary = Traffic(Strategy.CANARY, canary=Canary((Step(5),)))
    world = World(replace(SETTINGS, prometheus=False)).apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1"), a_version("2.4.2", traffic=canary)).settle()
    assert "2.4.2 is wanted, and held back" in world.condition("2.4.1", "Ready")["message"]


def test_rollback_is_one_field_and_needs_no_new_pod():
    world = two_versions().edit_endpoint(pin="2.4.0", generation=2)
    world.step()
    assert world.serving == "2.4.0"
    world.settle()
    assert world.roles() == {"2.4.0": "Stable", "2.4.1": "Warm"}


def test_removing_the_pin_goes_forward_again():
    world = two_versions().edit_endpoint(pin="2.4.0").settle()
    world.edit_endpoint(pin=None).settle()
    assert world.serving == "2.4.1"


def test_a_pin_on_a_version_that_does_not_exist_moves_nothing_and_says_so():
    world = two_versions().edit_endpoint(pin="9.9.9").settle()
    assert world.serving == "2.4.1"
    stalled = world.endpoint_condition("Stalled")
    assert stalled["reason"] == "VersionNotFound"
    assert "9.9.9" in stalled["message"]
    assert "2.4.1" in stalled["message"]


def test_only_the_newest_former_version_stays_warm_and_older_ones_scale_to_zero():
    world = World()
    for version in ("1.0.0", "1.1.0", "1.2.0", "1.3.0"):
        world.apply(a_version(version)).settle()
    assert world.roles() == {"1.0.0": "Retired", "1.1.0": "Retired", "1.2.0": "Warm", "1.3.0": "Stable"}
    assert [world.replicas(v) for v in ("1.0.0", "1.1.0", "1.2.0", "1.3.0")] == [0, 0, 1, 1]


def test_versions_beyond_the_history_lose_their_objects():
    world = World().edit_endpoint(history=2)
    for version in ("1.0.0", "1.1.0", "1.2.0", "1.3.0"):
        world.apply(a_version(version)).settle()
    assert world.replicas("1.0.0") is None
    assert world.roles()["1.0.0"] == "Idle"
    assert len(world.endpoint.status["history"]) == 2


def test_a_candidate_that_is_never_ready_fails_and_traffic_stays():
    world = World().apply(a_version("2.4.0")).settle()
    world.never_ready.add("2.4.1")
    world.apply(a_version("2.4.1")).settle()
    assert decide(world.look(), world.now).recheck_at is not None
    world.pass_time(seconds=SETTINGS.ready_deadline_s + 1).settle()
    assert world.serving == "2.4.0"
    assert world.roles() == {"2.4.0": "Stable", "2.4.1": "Failed"}
    assert "not tried again" in world.condition("2.4.1", "Stalled")["message"]
    assert world.endpoint.status["history"][0]["outcome"] == "Failed"
    assert world.replicas("2.4.1") == 0


def test_a_failed_version_is_not_tried_again_by_itself_but_a_newer_one_is():
    world = World().apply(a_version("2.4.0")).settle()
    world.never_ready.add("2.4.1")
    world.apply(a_version("2.4.1")).settle()
    world.pass_time(hours=1).settle()
    world.never_ready.clear()
    world.settle()
    assert world.serving == "2.4.0"
    world.apply(a_version("2.4.2")).settle()
    assert world.serving == "2.4.2"


def test_a_failed_version_can_be_pinned_by_hand_and_recovers():
    world = World().apply(a_version("2.4.0")).settle()
    world.never_ready.add("2.4.1")
    world.apply(a_version("2.4.1")).settle()
    world.pass_time(hours=1).settle()
    world.edit_endpoint(pin="2.4.1").settle()
    assert world.roles()["2.4.1"] == "Candidate"
    assert world.condition("2.4.1", "Failed")["status"] == "True"
    world.never_ready.clear()
    world.settle()
    assert world.serving == "2.4.1"
    assert world.condition("2.4.1", "Failed") is None


def test_a_failed_version_whose_pin_is_taken_away_is_failed_again():
    world = World().apply(a_version("2.4.0")).settle()
    world.never_ready.add("2.4.1")
    world.apply(a_version("2.4.1")).settle()
    world.pass_time(hours=1).settle()
    world.edit_endpoint(pin="2.4.1").settle()
    world.edit_endpoint(pin=None).settle()
    assert world.roles() == {"2.4.0": "Stable", "2.4.1": "Failed"}


def test_the_first_version_is_never_given_up_since_nothing_else_serves():
    world = World()
    world.never_ready.add("2.4.0")
    world.apply(a_version("2.4.0")).settle()
    world.pass_time(hours=5).settle()
    assert world.roles() == {"2.4.0": "Candidate"}


def test_a_newer_candidate_supersedes_the_older_one():
    world = World().apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1")).settle(ready=False)
    world.apply(a_version("2.4.2")).settle(ready=False)
    assert world.roles() == {"2.4.0": "Stable", "2.4.1": "Idle", "2.4.2": "Candidate"}
    assert world.replicas("2.4.1") is None


def test_a_superseded_version_remembers_what_was_wrong_with_it():
    world = World().apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1")).settle(ready=False)
    world.pods = (a_pod_that_crashes("2.4.1"),)
    world.step()
    assert world.condition("2.4.1", "Stalled")["reason"] == "LoadFailed"
    assert [(e.regarding.name, e.reason) for e in world.events if e.type == "Warning"] == [
        ("sentiment-2.4.1", "LoadFailed")
    ]
    world.pods = ()
    world.apply(a_version("2.4.2")).settle()
    broken = world.condition("2.4.1", "Broken")
    assert (broken["reason"], world.roles()["2.4.1"]) == ("LoadFailed", "Idle")
    assert "opset" in broken["message"]
    world.edit_endpoint(pin="2.4.1").settle()
    assert world.condition("2.4.1", "Broken") is None


def a_pod_that_crashes(version):
    """Return a pod whose Triton ended with an error of the model."""
    ended = {"exitCode": 1, "message": "failed to load 'news': unsupported opset 99"}
    triton = {"name": "triton", "ready": False, "state": {}, "lastState": {"terminated": ended}}
    name = version_name(f"sentiment-{version}")
    metadata = {"name": f"{name}-x", "labels": {"inferenceversion.io/name": name}, "creationTimestamp": ""}
    return {"kind": "Pod", "metadata": metadata, "status": {"containerStatuses": [triton]}}


def test_pause_holds_a_new_version_back_and_lets_a_rollback_pass():
    world = two_versions().edit_endpoint(paused=True)
    world.apply(a_version("2.4.2")).settle()
    assert world.serving == "2.4.1"
    assert world.roles()["2.4.2"] == "Idle"
    world.edit_endpoint(pin="2.4.0").settle()
    assert world.serving == "2.4.0"


def test_the_first_version_of_an_endpoint_goes_straight_in_whatever_its_strategy():
    world = World().apply(a_version("2.4.0", traffic=Traffic(Strategy.CANARY))).settle()
    assert world.serving == "2.4.0"


def test_the_deleted_stable_version_is_followed_by_the_next():
    world = two_versions()
    world.delete("2.4.1")
    world.settle()
    assert world.serving == "2.4.0"


def test_the_endpoint_that_the_operator_made_goes_with_the_last_version():
    world = two_versions()
    world.delete("2.4.0")
    world.delete("2.4.1")
    world.settle()
    assert world.endpoint is None
    assert world.objects == {}


def test_an_endpoint_that_was_deleted_finds_what_serves_again():
    world = two_versions().edit_endpoint(pin="2.4.0").settle()
    world.never_ready.add("2.5.0")
    world.apply(a_version("2.5.0")).settle()
    world.endpoint = None
    world.objects = {k: o for k, o in world.objects.items() if k[0] not in ("HTTPRoute", "GRPCRoute")}
    world.step()
    world.step()
    assert world.serving == "2.4.0"
    assert world.replicas("2.4.0") == 1


def test_an_endpoint_without_a_ready_pod_says_so_and_names_the_way_out():
    world = two_versions()
    world.never_ready.add("2.4.1")
    world.pods_become_ready()
    world.settle()
    assert world.endpoint.status["phase"] == "Degraded"
    message = world.endpoint_condition("Ready")["message"]
    assert "0 of 1 replicas ready; requests fail" in message
    assert "kubectl iv rollback sentiment 2.4.0" in message


def test_a_declared_endpoint_stays_without_versions():
    world = World().edit_endpoint(managed=False)
    world.settle()
    assert world.endpoint is not None
    assert world.endpoint.status["phase"] == "Empty"


def test_of_two_objects_with_one_version_the_first_serves_and_the_other_is_told():
    first = a_version("2.4.0")
    second = replace(first, name="copy", uid="uid-copy", created="2026-11-30T11:00:00Z")
    world = World().apply(first, second).settle()
    refused = next(c for c in world.versions["copy"].status["conditions"] if c["type"] == "Accepted")
    assert refused["status"] == "False"
    assert first.name in refused["message"]
    assert world.versions[first.name].status["role"] == "Stable"


def test_without_a_gateway_the_service_follows_stable():
    world = World(replace(SETTINGS, gateway_parent_refs=())).apply(a_version("2.4.0")).settle()
    world.apply(a_version("2.4.1")).settle()
    service = world.objects["Service", "sentiment"]
    assert service["spec"]["selector"]["inferenceversion.io/name"].startswith("sentiment-2-4-1-")
    assert world.endpoint_condition("Ready")["status"] == "True"


def test_a_gateway_without_the_gateway_api_is_said():
    bare = replace(SETTINGS, route_kinds=frozenset(), gateway_parent_refs=())
    from inferenceversion_operator.api.types import Gateway

    world = World(bare).edit_endpoint(gateway=Gateway(parent_refs=({"name": "g"},)))
    world.apply(a_version("2.4.0")).settle()
    assert world.endpoint_condition("Stalled")["reason"] == "GatewayApiMissing"


def test_a_named_version_is_reached_by_header_while_it_runs():
    world = two_versions()
    rules = world.objects["HTTPRoute", "sentiment"]["spec"]["rules"]
    headers = [m["headers"][0]["value"] for rule in rules for m in rule["matches"] if "headers" in m]
    assert sorted(headers) == ["2.4.0", "2.4.1"]


def test_the_rule_for_all_traffic_keeps_its_place_while_versions_come_and_go():
    """A Gateway names what a rule leads to by its place: what serves must not change its name."""
    world = two_versions()
    first = world.objects["HTTPRoute", "sentiment"]["spec"]["rules"][0]
    assert all("headers" not in match for match in first["matches"])
    assert world.objects["GRPCRoute", "sentiment"]["spec"]["rules"][0].get("matches") is None


def story(world):
    """A release, a failed one, a rollback and a way forward; the world may crash anywhere."""
    for act in (
        lambda: world.apply(a_version("2.4.0")),
        lambda: world.apply(a_version("2.4.1")),
        lambda: world.never_ready.add("2.5.0"),
        lambda: world.apply(a_version("2.5.0")),
        lambda: world.pass_time(hours=1),
        lambda: world.edit_endpoint(pin="2.4.0"),
        lambda: world.edit_endpoint(pin=None),
        lambda: world.apply(a_version("2.5.1")),
        lambda: world.delete("2.4.0"),
    ):
        act()
        try:
            world.settle()
        except Crash:
            world.settle()
    return world


def test_killed_after_any_write_the_operator_ends_in_the_same_state():
    undisturbed = story(World())
    assert undisturbed.serving == "2.5.1"
    for k in range(undisturbed.writes):
        world = World()
        world.crash_after = k
        assert story(world).summary() == undisturbed.summary(), f"killed after write {k}"


ACTS = st.sampled_from(["apply", "delete", "pin", "unpin", "pause", "resume", "time", "ready", "break", "step"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(ACTS, st.integers(0, 4)), max_size=40))
def test_whatever_happens_traffic_only_moves_to_a_ready_version(acts):
    world = World()
    names = ["1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1", "2.0.0"]
    for act, n in acts:
        name = names[n]
        exists = any(v.version == name for v in world.versions.values())
        if act == "apply" and not exists:
            world.apply(a_version(name))
        elif act == "delete" and exists:
            world.delete(name)
        elif act in ("pin", "unpin"):
            world.edit_endpoint(pin=name if act == "pin" else None)
        elif act in ("pause", "resume"):
            world.edit_endpoint(paused=act == "pause")
        elif act == "time":
            world.pass_time(minutes=10)
        elif act == "break":
            world.never_ready ^= {name}
        elif act == "ready":
            world.pods_become_ready()
        world.step()
        assert decide(world.look(), world.now) == decide(world.look(), world.now)
        running = [v for v, role in world.roles().items() if role == "Candidate"]
        assert len(running) <= 1, "never a third one"
    switches = [entry for i, entry in enumerate(world.traffic_log) if i == 0 or world.traffic_log[i - 1][0] != entry[0]]
    assert all(ready for _, ready in switches), world.traffic_log
    world.settle()


@pytest.mark.parametrize("managed", [True, False])
def test_an_endpoint_that_is_being_deleted_is_left_alone(managed):
    world = World().edit_endpoint(deleting=True, managed=managed).apply(a_version("2.4.0"))
    plan = decide(world.look(), world.now)
    assert plan.capacity == ()
    assert plan.traffic == ()
    assert an_endpoint().name == "sentiment"
