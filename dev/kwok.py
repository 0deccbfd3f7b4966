"""Fake nodes: a kwok process that answers for Node objects nobody runs, and for the pods bound to them."""

import json
from pathlib import Path

from dev import gotools, plan, processes
from dev.kubectl import Kubectl
from dev.paths import Paths
from dev.processes import wait_until
from dev.steps import run_steps

MARK = "kwok.x-k8s.io/node"
GPUS_EACH = 8
POD_NETWORK = "10.245.0.1/16"  # beside the real pods' 10.244.0.0/16: addresses that lead nowhere
STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)


def configuration(stages: list[str]) -> str:
    """Kwok's configuration and what nodes and pods go through, as one stream of documents."""
    document = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {
            "manageNodesWithAnnotationSelector": f"{MARK}=fake",
            "cidr": POD_NETWORK,
            "nodeIP": "127.0.0.1",
            "nodePort": 0,
            "serverAddress": "",
            "nodeLeaseDurationSeconds": 40,
        },
    }
    return "\n---\n".join([json.dumps(document), *stages])


def node(index: int) -> dict[str, object]:
    name = f"kwok-{index:04}"
    resources = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(GPUS_EACH)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {MARK: "fake", "node.alpha.kubernetes.io/ttl": "0"},
            "labels": {"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": [{"key": MARK, "value": "fake", "effect": "NoSchedule"}]},
        "status": {"allocatable": resources, "capacity": resources, "phase": "Running"},
    }


def record(paths: Paths) -> Path:
    return paths.state / "kwok.pid"


def _names(kubectl: Kubectl) -> list[str]:
    return kubectl.output("get", "nodes", "-l", "type=kwok", "-o", "jsonpath={.items[*].metadata.name}").split()


def _ready(kubectl: Kubectl) -> int:
    items = kubectl.get("nodes", "-l", "type=kwok")["items"]
    conditions = [each for item in items for each in item["status"].get("conditions", [])]
    return sum(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def start(paths: Paths, kubectl: Kubectl, count: int) -> None:
    """Start kwok if it does not run, and make exactly `count` fake nodes Ready."""
    run_steps([plan.go_step(paths, "kwok")])
    if processes.living(record(paths)) is None:
        folder = gotools.module_folder(paths, "kwok", "sigs.k8s.io/kwok") / "kustomize/stage"
        file = paths.state / "kwok.yaml"
        file.write_text(configuration([(folder / stage).read_text() for stage in STAGES]))
        command: list[str | Path] = [gotools.binary(paths, "kwok"), f"--kubeconfig={paths.kubeconfig}", "-c", file]
        processes.start(record(paths), command, paths.log("kwok"))
    wanted = [node(index) for index in range(count)]
    _delete(kubectl, set(_names(kubectl)) - {f"kwok-{index:04}" for index in range(count)})
    if wanted:
        kubectl.apply("\n---\n".join(json.dumps(each) for each in wanted))
    wait_until(f"{count} fake nodes Ready", lambda: _ready(kubectl) == count, within=120, log=paths.log("kwok"))


def _delete(kubectl: Kubectl, names: set[str]) -> None:
    if names:
        kubectl.output("delete", "node", *sorted(names), "--wait=false", timeout=120)


def remove(paths: Paths, kubectl: Kubectl) -> None:
    """Delete the nodes; kwok ends last, because it has to let their pods go."""
    _delete(kubectl, set(_names(kubectl)))
    wait_until("the end of the fake nodes", lambda: not _names(kubectl), within=120)
    stop(paths)


def stop(paths: Paths) -> bool:
    return processes.stop(record(paths))
