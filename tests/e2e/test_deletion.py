"""What is deleted is gone with all that belonged to it; what serves is not deleted by mistake."""

import pytest

from tests.support.cluster import Cluster
from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace, fresh_namespace


@pytest.fixture(scope="module")
def served(ns: Namespace, image: str) -> Namespace:
    ns.apply(sentiment("1.0.0", image))
    ns.wait_stable("1.0.0")
    return ns


def test_the_version_that_serves_is_not_deleted_and_the_refusal_says_what_to_do(served):
    said = served.kubectl.refused("delete", "iv", "news-1.0.0", "--wait=false")
    assert "news-1.0.0 serves traffic of endpoint news" in said
    assert "pin another version first" in said
    assert "inferenceversion.io/delete-protection=disabled" in said
    assert served.seen("iv", "news-1.0.0")["metadata"].get("deletionTimestamp") is None


def test_a_version_that_does_not_serve_goes_with_its_children(served, image):
    served.apply(sentiment("0.9.0", image))
    served.wait_condition("iv", "news-0.9.0", "Ready", reason="NotWanted", within=10)
    served.apply(sentiment("1.1.0", f"localhost:1/none@sha256:{'0' * 64}"))
    served.wait_condition("iv", "news-1.1.0", "Ready", "False", reason="ImageNotPulled", within=30)
    uids = {name: served.seen("iv", name)["metadata"]["uid"] for name in ("news-0.9.0", "news-1.1.0")}
    served.kubectl.delete("iv", *uids, wait=True)
    served.wait_gone(
        "their children are gone",
        lambda: [
            f"{kind}/{obj['metadata']['name']}"
            for kind, obj in served.owned()
            if any(owner["uid"] in uids.values() for owner in obj["metadata"]["ownerReferences"])
        ],
    )
    served.wait_stable("1.0.0", within=10)


def test_after_the_last_version_nothing_of_ours_is_left(served):
    served.kubectl.run("annotate", "iv", "news-1.0.0", "inferenceversion.io/delete-protection=disabled")
    served.kubectl.delete("iv", "news-1.0.0", wait=True)
    served.wait_gone("the endpoint and every child are gone", lambda: left_over(served), within=90)


def left_over(ns: Namespace) -> list[str]:
    ours = [f"{kind}/{o['metadata']['name']}" for kind in ("iv", "iep") for o in ns.all_of(kind)]
    ours += [f"{kind}/{o['metadata']['name']}" for kind, o in ns.owned()]
    return ours + [f"pod/{pod['metadata']['name']}" for pod in ns.all_of("pod")]


def test_a_namespace_goes_with_the_version_that_serves_in_it(cluster: Cluster, operator, image):
    with fresh_namespace(cluster, "namespace") as own:
        own.apply(sentiment("1.0.0", image))
        own.wait_stable("1.0.0")
    own.wait_gone("the namespace is gone", lambda: cluster.api.read(f"/api/v1/namespaces/{own.name}"), within=60)
