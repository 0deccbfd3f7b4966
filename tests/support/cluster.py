"""The cluster under test: what ``demo`` knows of it, cheap reads, and how to kill the operator in it."""

import json
from dataclasses import dataclass, fields
from typing import Any

import demo.cluster
from demo.cluster import DOMAIN, GATEWAY, RELEASE, SYSTEM, NoClusterError, install_operator
from tests.support.cluster_api import Api
from tests.support.kubectl import Kubectl
from tests.support.wait import wait_until

__all__ = ["DOMAIN", "GATEWAY", "RELEASE", "SYSTEM", "Cluster", "NoClusterError", "find_cluster", "install_operator"]


@dataclass(frozen=True, slots=True)
class Cluster(demo.cluster.Cluster):
    """The cluster with what only tests need."""

    api: Api

    @property
    def as_user(self) -> Kubectl:
        return Kubectl(self.tool("kubectl"), self.kubeconfig)


def find_cluster() -> Cluster:
    """Return the cluster that is up.

    Raises:
        NoClusterError: there is none.
    """
    found = demo.cluster.find_cluster()
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return Cluster(**values, api=Api(found.kubeconfig))


def operator_pods(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the operator's pods that are not on their way out."""
    pods = cluster.api.all_of("pod", SYSTEM, f"app.kubernetes.io/instance={RELEASE}")
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def kill_operator(cluster: Cluster) -> None:
    """End the operator's process by SIGKILL: it gets no chance to finish what it does."""
    (pod,) = operator_pods(cluster)
    if not cluster.ours:
        cluster.as_user.inside(SYSTEM).run("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")
        return
    container = pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
    node = ["docker", "exec", pod["spec"]["nodeName"]]
    pid = json.loads(cluster.call([*node, "crictl", "inspect", container]))["info"]["pid"]
    cluster.call([*node, "kill", "-9", str(pid)])


def fresh_operator(cluster: Cluster) -> None:
    """Start the operator in a new pod: the kubelet lets one that was killed often wait for a minute and more."""
    old = {pod["metadata"]["uid"] for pod in operator_pods(cluster)}
    for pod in operator_pods(cluster):
        cluster.as_user.inside(SYSTEM).run("delete", "pod", pod["metadata"]["name"])
    wait_until("waiting until the operator runs in a new pod", lambda: _ready_beside(cluster, old), within=90)


def _ready_beside(cluster: Cluster, old: set[str]) -> bool:
    new = [pod for pod in operator_pods(cluster) if pod["metadata"]["uid"] not in old]
    return any(s.get("ready") for pod in new for s in pod["status"].get("containerStatuses", ()))
