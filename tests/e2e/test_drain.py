"""A pod that goes takes no request with it."""

import json
import time

import pytest

from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.load import GrpcLoad, Load, ask, failed
from tests.support.wait import wait_until


@pytest.fixture(scope="module")
def two_pods(ns: Namespace, image: str) -> Namespace:
    ns.apply(sentiment("1.0.0", image, autoscaling={"minReplicas": 2, "maxReplicas": 2}))
    ns.wait_stable("1.0.0", within=180)
    wait_until("waiting until the Gateway answers", lambda: not failed([ask(ns.target())]), within=30)
    return ns


def test_a_pod_that_is_deleted_under_load_fails_no_request(two_pods):
    going = two_pods.pods("news-1.0.0")[0]["metadata"]["name"]
    kept, fresh = Load(two_pods.target(), rate=20), Load(two_pods.target(), rate=5, keep_alive=False)
    with kept, fresh, GrpcLoad(two_pods.target(), rate=5) as grpc:
        wait_until("waiting until requests flow", lambda: len(kept.answers) > 20, within=30)
        began = time.monotonic()
        two_pods.kubectl.delete("pod", going)
        two_pods.wait_gone("the pod is gone", lambda: two_pods.get("pod", going), within=90)
        gone = time.monotonic()
        wait_until("waiting until requests flow without it", lambda: len(kept.since(gone)) > 20, within=30)
    print(
        f"the pod was gone after {gone - began:.1f} s; {len(kept.answers)} + {len(fresh.answers)} + {len(grpc.answers)} requests"
    )
    assert failed(kept.answers) == []
    assert failed(fresh.answers) == []
    assert failed(grpc.answers, good=0) == []


def test_a_budget_lets_one_pod_be_evicted_and_not_the_other(two_pods):
    name = two_pods.seen("iv", "news-1.0.0")["status"]["name"]
    wait_until(
        "waiting until one pod may go",
        lambda: two_pods.seen("pdb", name)["status"]["disruptionsAllowed"] == 1,
        within=60,
    )
    first, second = (pod["metadata"]["name"] for pod in two_pods.pods("news-1.0.0")[:2])
    two_pods.kubectl.run(*eviction(two_pods, first), stdin=evicted(first))
    assert "disruption budget" in two_pods.kubectl.refused(*eviction(two_pods, second), stdin=evicted(second))


def eviction(namespace: Namespace, pod: str) -> tuple[str, ...]:
    return "create", "--raw", f"/api/v1/namespaces/{namespace.name}/pods/{pod}/eviction", "-f", "-"


def evicted(pod: str) -> str:
    return json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}})
