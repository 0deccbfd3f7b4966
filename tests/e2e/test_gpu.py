"""A version that asks for a GPU runs where there is one, and says so where there is none."""

from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster
from tests.support.cluster_manifests import sentiment


@pytest.fixture
def no_gpus(cluster: Cluster) -> Iterator[Cluster]:
    if not cluster.ours:
        pytest.skip("fake GPUs are given to nodes of our own cluster only")
    cluster.dev("gpus", "0")
    yield cluster
    cluster.dev("gpus", "0")


def test_a_version_with_a_gpu_waits_for_one_and_then_runs_there(no_gpus, ns, image):
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    ns.apply(sentiment("1.0.0", image, runtime={"resources": limits}))
    told = ns.wait_condition("iv", "news-1.0.0", "Scheduled", "False", reason="Unschedulable", within=30)
    assert "nvidia.com/gpu" in told["message"]
    no_gpus.dev("gpus", "1")
    ns.wait_condition("iv", "news-1.0.0", "Scheduled", "True", within=60)
    ns.wait_stable("1.0.0")
    (pod,) = ns.pods("news-1.0.0")
    node = no_gpus.api.read(f"/api/v1/nodes/{pod['spec']['nodeName']}")
    assert b'"nvidia.com/gpu":"1"' in node.replace(b" ", b"")
