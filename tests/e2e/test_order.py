"""Version, endpoint and Gateway in any order end in the same objects; what is missing meanwhile is named."""

import json

import pytest

from tests.support.cluster import GATEWAY
from tests.support.cluster_manifests import Object, sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.wait import wait_until


def endpoint(name: str, **spec: object) -> Object:
    own = {"gateway": {"parentRefs": [GATEWAY], "hostnames": ["news.example.com"]}, "retention": {"warm": 0}, **spec}
    return {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": name},
        "spec": own,
    }


def children(ns: Namespace, name: str) -> list[str]:
    """Return what was made for an endpoint and its version of the same name, told apart by that name alone."""
    derived = ns.seen("iv", name)["status"]["name"]
    mine = [
        (kind, obj) for kind, obj in ns.owned() if obj["metadata"]["labels"]["inferenceversion.io/endpoint"] == name
    ]
    texts = [f"{kind} {json.dumps(own_fields(obj), sort_keys=True)}" for kind, obj in mine]
    return sorted(text.replace(derived, "DERIVED").replace(f'"{name}"', '"NAME"') for text in texts)


def own_fields(obj: Object) -> Object:
    """Leave out what differs by nature: the name of a ConfigMap, addresses, the digest of a content with a name in it."""
    spec = {key: value for key, value in obj.get("spec", {}).items() if key not in ("clusterIP", "clusterIPs")}
    spec.get("template", {}).get("spec", {}).pop("volumes", None)
    return {"labels": obj["metadata"]["labels"], "spec": spec, "keys": sorted(obj.get("data", ()))}


def test_version_and_endpoint_in_either_order_give_the_same_objects(ns: Namespace, image: str):
    ns.apply(sentiment("1.0.0", image, endpoint="one", name="one"))
    wait_until("waiting until the operator made the endpoint", lambda: ns.get("iep", "one"), within=10)
    ns.apply(endpoint("one"))
    ns.apply(endpoint("two"))
    assert wait_until(
        "waiting until the endpoint has a status", lambda: ns.condition("iep", "two", "Ready")["reason"], within=10
    )
    assert ns.condition("iep", "two", "Ready")["status"] == "False"
    assert "no version" in ns.condition("iep", "two", "Ready")["message"]
    ns.apply(sentiment("1.0.0", image, endpoint="two", name="two"))
    for name in ("one", "two"):
        ns.wait_stable("1.0.0", name)
    assert children(ns, "one") == children(ns, "two")


def test_a_gateway_that_comes_late_is_named_and_then_taken(ns: Namespace, image: str):
    late = {"name": "late", "namespace": ns.name}
    ns.apply(endpoint("late", gateway={"parentRefs": [late]}), sentiment("1.0.0", image, endpoint="late"))
    ns.wait_ready("late-1.0.0")
    told = ns.wait_condition("iep", "late", "Routed", "False", reason="NotAccepted", within=30)
    assert "late" in told["message"]
    listener = {"name": "http", "protocol": "HTTP", "port": 80}
    ns.apply(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": "late"},
            "spec": {"gatewayClassName": "eg", "listeners": [listener]},
        }
    )
    ns.wait_condition("iep", "late", "Routed", "True", within=60)
    ns.wait_stable("1.0.0", "late", within=30)


@pytest.fixture(autouse=True)
def _only_what_is_needed(ns: Namespace):
    """Free the processor for the next test."""
    yield
    for obj in ns.all_of("iv"):
        name = obj["metadata"]["name"]
        ns.kubectl.run("annotate", "iv", name, "inferenceversion.io/delete-protection=disabled", "--overwrite")
        ns.kubectl.delete("iv", name)
