"""What the cache leaves out of an object must not matter to anybody."""

import copy
import json
from datetime import UTC, datetime

import pytest

from bench import objects
from bench.memory import FAMILY
from inferenceversion_operator.adapters.kube import cache as cache_module
from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.slim import Packed, slim, unpacked
from inferenceversion_operator.adapters.kube.writer import holds
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.reconcile.observe import Reader, observe

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
KEY = ("ours", "news-1")


def family():
    """Return everything of one version that serves, as a real API server listed it."""
    return json.loads(FAMILY.read_text())


def of_kind(kind):
    return next(obj for obj in family() if obj["kind"] == kind)


def plan_for(found):
    cache = Cache(lambda _key, _asked: None)
    for obj in found:
        cache.put(obj)
    return decide(observe(cache, KEY, objects.SETTINGS, None, Reader()), NOW)


def container(found, name, **status):
    """Change the status of a container of the pod."""
    pod = next(obj for obj in found if obj["kind"] == "Pod")
    listed = "initContainerStatuses" if name in ("fetch", "guard") else "containerStatuses"
    mine = next(one for one in pod["status"].setdefault(listed, []) if one["name"] == name)
    mine |= {"ready": False, **status}


def nothing(_found):
    pass


def not_scheduled(found):
    pod = next(obj for obj in found if obj["kind"] == "Pod")
    pod["status"] = {
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no GPU"}]
    }


def image_missing(found):
    container(found, "triton", state={"waiting": {"reason": "ImagePullBackOff", "message": "not there"}})


def hash_differs(found):
    said = json.dumps({"reason": "WeightHashDiffers", "message": "model.weightHash: expected a, got b"})
    container(found, "fetch", state={"terminated": {"exitCode": 1, "message": said}})


def out_of_memory(found):
    container(
        found, "triton", state={"running": {}}, lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    )


def shrunk(found):
    deployment = next(obj for obj in found if obj["kind"] == "Deployment")
    deployment["spec"]["replicas"] = 7


def quota(found):
    deployment = next(obj for obj in found if obj["kind"] == "Deployment")
    deployment["status"] = {
        "conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}]
    }


def no_addresses(found):
    for obj in found:
        if obj["kind"] == "EndpointSlice":
            obj["endpoints"] = [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}]


def no_endpoint(found):
    found[:] = [obj for obj in found if obj["kind"] != "InferenceEndpoint"]


def config_map_of_before(found):
    stale = copy.deepcopy(next(obj for obj in found if obj["kind"] == "ConfigMap"))
    stale["metadata"] |= {"name": "unused", "uid": "another"}
    found.append(stale)


CHANGES = [
    nothing,
    not_scheduled,
    image_missing,
    hash_differs,
    out_of_memory,
    shrunk,
    quota,
    no_addresses,
    no_endpoint,
    config_map_of_before,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_decision_is_the_same_with_whole_objects(change, monkeypatch):
    found = family()
    change(found)
    slimmed = plan_for(found)
    monkeypatch.setattr(cache_module, "slim", lambda obj, _known=None: obj)
    assert plan_for(found) == slimmed


def test_what_changes_a_decision_above_does_change_it():
    plans = []
    for change in CHANGES:
        found = family()
        change(found)
        plans.append(repr(plan_for(found)))
    assert len(set(plans)) == len(CHANGES)


def test_a_thousand_versions_are_small():
    kept = sum(len(json.dumps(slim(obj), default=lambda packed: packed._bytes.hex()[::2])) for obj in family())
    assert kept < sum(len(json.dumps(obj)) for obj in family()) / 5


@pytest.mark.parametrize("kind", ["Deployment", "Service", "PodDisruptionBudget"])
def test_drift_is_seen_in_what_is_kept(kind):
    live = of_kind(kind)
    wanted = {"spec": copy.deepcopy(live["spec"])}
    assert holds(slim(live), wanted)
    paths = {
        "Deployment": ("template", "spec", "terminationGracePeriodSeconds"),
        "Service": ("sessionAffinity",),
        "PodDisruptionBudget": ("maxUnavailable",),
    }
    *way, last = paths[kind]
    inner = live["spec"]
    for step in way:
        inner = inner[step]
    inner[last] = "something else"
    assert not holds(slim(live), wanted)


def test_a_spec_that_can_not_have_changed_is_packed_once():
    before = slim(of_kind("Deployment"))
    changed = of_kind("Deployment")
    changed["status"]["readyReplicas"] = 0
    after = slim(changed, before)
    assert after["spec"]["template"] is before["spec"]["template"]
    assert after["status"]["readyReplicas"] == 0
    changed["metadata"]["generation"] += 1
    changed["spec"]["template"]["spec"]["schedulerName"] = "mine"
    after = slim(changed, before)
    assert unpacked(after["spec"]["template"])["spec"]["schedulerName"] == "mine"


def test_an_object_made_anew_under_its_name_shares_nothing_with_the_old_one():
    before = slim(of_kind("Deployment"))
    changed = of_kind("Deployment")
    changed["metadata"]["uid"] = "another"
    changed["spec"]["template"]["spec"]["schedulerName"] = "mine"
    assert unpacked(slim(changed, before)["spec"]["template"])["spec"]["schedulerName"] == "mine"


@pytest.mark.parametrize("value", [{}, [], {"a": [1, 2.5, None, True, "\u20ac" * 100]}, "text"])
def test_what_is_packed_comes_back_as_it_was(value):
    assert Packed(value).unpack() == value


def test_an_object_without_a_spec_is_kept():
    meta = {"name": "v", "namespace": "n", "uid": "u"}
    assert slim({"kind": "InferenceVersion", "metadata": meta}) == {"kind": "InferenceVersion", "metadata": meta}


def test_kubectls_copy_of_an_object_is_left_out_and_other_annotations_stay():
    version = of_kind("InferenceVersion")
    version["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "news"}
    assert slim(version)["metadata"]["annotations"] == {"team": "news"}
