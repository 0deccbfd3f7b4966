"""Fake GPUs: a number in a node's capacity, which the scheduler believes. Nothing computes faster for it."""

import json
from typing import Any

from dev.kubectl import Kubectl
from dev.processes import wait_until
from dev.shell import DevError

RESOURCE = "nvidia.com/gpu"


def pick_node(nodes: list[dict[str, Any]]) -> str:
    """The first node that takes pods: a worker, or the only node."""
    for node in nodes:
        taints = node["spec"].get("taints") or []
        fake = node["metadata"].get("annotations", {}).get("kwok.x-k8s.io/node") == "fake"
        if not fake and not any(taint["effect"] == "NoSchedule" for taint in taints):
            return str(node["metadata"]["name"])
    raise DevError("no node takes pods")


def patch(count: int) -> list[dict[str, object]]:
    """A JSON patch; 0 takes the resource away. `~1` is the slash of the name."""
    places = [f"/status/{part}/{RESOURCE.replace('/', '~1')}" for part in ("capacity", "allocatable")]
    if count == 0:
        return [{"op": "remove", "path": place} for place in places]
    return [{"op": "add", "path": place, "value": str(count)} for place in places]


def set_gpus(kubectl: Kubectl, count: int, node: str | None) -> str:
    """Set capacity, and wait until the kubelet has taken it over into allocatable."""
    name = node or pick_node(kubectl.get("nodes")["items"])

    def allocatable() -> int:
        return int(kubectl.get("node", name)["status"]["allocatable"].get(RESOURCE, "0"))

    if count == 0 and RESOURCE not in kubectl.get("node", name)["status"]["capacity"]:
        return name
    kubectl.output("patch", "node", name, "--subresource=status", "--type=json", "-p", json.dumps(patch(count)))
    wait_until(f"{count} {RESOURCE} on {name}", lambda: allocatable() == count, within=60)
    return name
