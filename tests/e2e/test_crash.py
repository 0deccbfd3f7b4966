"""The operator is killed in the middle of its work; what comes out is the same."""

import time
from collections.abc import Callable

import pytest

from tests.support.cluster import Cluster, fresh_operator, kill_operator, operator_pods
from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.load import Load, ask, failed, versions_of
from tests.support.wait import wait_until


@pytest.fixture(scope="module")
def served(ns: Namespace, image: str) -> Namespace:
    fresh_operator(ns.cluster)
    ns.apply(sentiment("1.0.0", image))
    ns.wait_stable("1.0.0")
    wait_until("waiting until the Gateway answers", lambda: not failed([ask(ns.target())]), within=30)
    return ns


def restarts(cluster: Cluster) -> int:
    return sum(s["restartCount"] for pod in operator_pods(cluster) for s in pod["status"].get("containerStatuses", ()))


def candidate_is_known(ns: Namespace) -> bool:
    return bool(ns.seen("iep", "news").get("status", {}).get("candidate"))


def candidate_is_ready(ns: Namespace) -> bool:
    pods = ns.pods("news-1.2.0")
    return any(c["type"] == "Ready" and c["status"] == "True" for p in pods for c in p["status"].get("conditions", ()))


@pytest.mark.parametrize(
    ("before", "after", "moment"),
    [
        ("1.0.0", "1.1.0", candidate_is_known),
        ("1.1.0", "1.2.0", candidate_is_ready),
    ],
    ids=["when-the-candidate-starts", "when-traffic-is-about-to-move"],
)
def test_an_operator_that_is_killed_while_it_switches_ends_where_it_would_have(
    served: Namespace, image: str, before: str, after: str, moment: Callable[[Namespace], bool]
):
    count = restarts(served.cluster)
    with Load(served.target(), rate=10) as load:
        served.apply(sentiment(after, image))
        wait_until("waiting until the moment to kill it", lambda: moment(served), within=90, every=0.02)
        kill_operator(served.cluster)
        killed = time.monotonic()
        served.wait_stable(after)
        wait_until(
            f"waiting until {after} answers alone", lambda: set(versions_of(load.last(20))) == {after}, within=30
        )
    print(f"{after} serves {time.monotonic() - killed:.1f} s after the kill")
    wait_until("waiting until the restart was counted", lambda: restarts(served.cluster) > count, within=30)
    assert failed(load.answers) == []
    roles = {iv["spec"]["version"]: iv["status"]["role"] for iv in served.all_of("iv")}
    assert roles[after] == "Stable"
    assert roles[before] == "Warm"
    history = served.seen("iep", "news")["status"]["history"]
    assert [entry["version"] for entry in history].count(after) == 1


def test_what_serves_goes_on_while_the_operator_is_down(served: Namespace):
    with Load(served.target(), rate=10) as load:
        kill_operator(served.cluster)
        wait_until("waiting until the operator is back", lambda: _is_back(served.cluster), within=60)
    assert failed(load.answers) == []
    (child,) = [obj for kind, obj in served.owned() if kind == "httproute"]
    served.kubectl.delete("httproute", child["metadata"]["name"])
    wait_until("waiting until it works again", lambda: served.get("httproute", child["metadata"]["name"]), within=30)


def _is_back(cluster: Cluster) -> bool:
    return any(s.get("ready") for pod in operator_pods(cluster) for s in pod["status"].get("containerStatuses", ()))
