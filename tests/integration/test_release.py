"""Routes, roles and pruning on a real API server. There is no kubelet: the tests say which pods are ready."""

import itertools
import json

import pytest

from inferenceversion_operator.api.names import version_name
from tests.integration.test_control_loop import children, condition, get, rest, version
from tests.support.wait import NotYet, wait_until

ADDRESSES = itertools.count(1)


def pods_are_ready(kubectl, number):
    """Play scheduler and kubelet: every pod of a version has a node, an address, and is ready."""
    name = version_name(f"news-sentiment-{number}")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a-node"}}
    kubectl.run("apply", "-f", "-", stdin=json.dumps(node))
    status = {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready", "ContainersReady")],
    }

    def pods():
        listed = get(kubectl, "pods", f"--selector=inferenceversion.io/name={name}")["items"]
        if not listed:
            raise NotYet("no pod yet")
        return [pod["metadata"]["name"] for pod in listed]

    for pod in wait_until("there are pods", pods, within=20):
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "a-node"},
        }
        if "nodeName" not in get(kubectl, "pod", pod)["spec"]:
            path = f"/api/v1/namespaces/{kubectl.namespace}/pods/{pod}/binding"
            kubectl.run("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))
        ip = f"10.244.{next(ADDRESSES) // 250}.{next(ADDRESSES) % 250}"
        patch = json.dumps({"status": {**status, "podIP": ip, "podIPs": [{"ip": ip}]}})
        kubectl.run("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", patch)


def serves(kubectl, number):
    """Wait until the route sends everything to this version."""
    name = version_name(f"news-sentiment-{number}")

    def probe():
        route = get(kubectl, "httproute", "news-sentiment")
        backend = route["spec"]["rules"][0]["backendRefs"][0]["name"]
        if backend != name:
            raise NotYet(backend)
        return route

    return wait_until(f"{number} serves", probe, within=20)


def roles(kubectl):
    return {iv["spec"]["version"]: iv["status"].get("role") for iv in get(kubectl, "iv")["items"]}


@pytest.fixture
def serving(operator, kubectl):
    kubectl.apply(version("2.4.0"))
    pods_are_ready(kubectl, "2.4.0")
    serves(kubectl, "2.4.0")
    return kubectl


def test_a_release_moves_the_routes_once_pods_are_ready(serving):
    serving.apply(version("2.4.1"))
    rest(serving)
    assert roles(serving) == {"2.4.0": "Stable", "2.4.1": "Candidate"}
    pods_are_ready(serving, "2.4.1")
    serves(serving, "2.4.1")
    rest(serving)
    assert roles(serving) == {"2.4.0": "Warm", "2.4.1": "Stable"}
    grpc = get(serving, "grpcroute", "news-sentiment")
    assert grpc["spec"]["rules"][0]["backendRefs"][0]["name"] == version_name("news-sentiment-2.4.1")
    service = get(serving, "service", "news-sentiment")
    assert service["spec"]["selector"]["inferenceversion.io/name"] == version_name("news-sentiment-2.4.1")


def test_a_rollback_by_patch_moves_them_back(serving):
    serving.apply(version("2.4.1"))
    pods_are_ready(serving, "2.4.1")
    serves(serving, "2.4.1")
    serving.run("patch", "iep", "news-sentiment", "--type=merge", "-p", '{"spec": {"version": "2.4.0"}}')
    serves(serving, "2.4.0")
    rest(serving)
    assert roles(serving) == {"2.4.0": "Stable", "2.4.1": "Warm"}


def test_promotions_are_told_as_events(serving):
    def promoted():
        events = get(serving, "events.events.k8s.io")["items"]
        found = [e for e in events if e["reason"] == "Promoted"]
        if not found:
            raise NotYet([e["reason"] for e in events])
        return found

    assert "2.4.0" in wait_until("the event is there", promoted, within=10)[0]["note"]


def test_a_route_that_no_gateway_takes_is_said(serving):
    def told():
        found = condition(serving, "iep", "news-sentiment", "Routed", "False")
        if found["reason"] != "NotAccepted":  # at first the route is not there yet
            raise NotYet(found)
        return found

    assert "inference" in wait_until("it is told", told, within=10)["message"]


def test_old_versions_scale_to_zero_and_beyond_the_history_lose_their_objects(serving):
    serving.run(
        "patch", "iep", "news-sentiment", "--type=merge", "-p", '{"spec": {"retention": {"warm": 1, "history": 3}}}'
    )
    for number in ("2.4.1", "2.4.2", "2.4.3"):
        serving.apply(version(number))
        pods_are_ready(serving, number)
        serves(serving, number)
    rest(serving)
    assert roles(serving) == {"2.4.0": "Idle", "2.4.1": "Retired", "2.4.2": "Warm", "2.4.3": "Stable"}
    replicas = {name: o["spec"]["replicas"] for (kind, name), o in children(serving).items() if kind == "Deployment"}
    named = {number: version_name(f"news-sentiment-{number}") for number in ("2.4.0", "2.4.1", "2.4.2", "2.4.3")}
    assert replicas == {named["2.4.1"]: 0, named["2.4.2"]: 1, named["2.4.3"]: 1}


def test_the_version_that_serves_is_protected_from_deletion(serving):
    rest(serving)
    said = serving.refused("delete", "iv", "news-sentiment-2.4.0")
    assert "serves traffic of endpoint news-sentiment" in said
    assert "kubectl iv rollback" in said
    assert "serves traffic" in serving.refused("delete", "iv", "--all")
    serving.run("annotate", "iv", "news-sentiment-2.4.0", "inferenceversion.io/delete-protection=disabled")
    serving.run("delete", "iv", "news-sentiment-2.4.0")


def test_the_endpoint_that_leads_traffic_is_protected_too(serving):
    rest(serving)
    said = serving.refused("delete", "iep", "news-sentiment")
    assert "leads traffic to version 2.4.0" in said
    assert "inferenceversion.io/delete-protection=disabled" in said
    serving.run("annotate", "iep", "news-sentiment", "inferenceversion.io/delete-protection=disabled")
    serving.run("delete", "iep", "news-sentiment")
    serves(serving, "2.4.0")


def test_protection_never_holds_up_a_namespace(serving):
    rest(serving)
    serving.run("delete", "namespace", serving.namespace, "--wait=false")
    # Pods go first, and these are bound to a node whose kubelet does not exist.
    serving.run("delete", "pods", "--all", "--force", "--grace-period=0")
    serving.run("wait", "--for=delete", f"namespace/{serving.namespace}", "--timeout=60s")


def test_a_version_that_does_not_serve_is_deleted_at_once(serving):
    serving.apply(version("2.3.0"))
    wait_until("it has a role", lambda: roles(serving).get("2.3.0") == "Idle", within=10)
    serving.run("delete", "iv", "news-sentiment-2.3.0")
