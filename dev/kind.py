"""The kind cluster: its configuration as a pure function, and the calls that make and delete it."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from dev import gotools, netns, parts, pins, shell
from dev.cache import write_atomically
from dev.engine import Engine
from dev.needs import Facts
from dev.paths import Paths

CLUSTER = "ivo"
GATEWAY_NODE_PORT, PROMETHEUS_NODE_PORT = 30080, 30090
GATEWAY_PORT, PROMETHEUS_PORT, API_PORT = 8080, 9090, 6443


@dataclass(frozen=True, slots=True)
class Shape:
    """What the configuration depends on."""

    nodes: int
    address: str  # where the API server, the Gateway and Prometheus are reached from the host
    local: bool  # our node image, in our namespace
    cgroup_v2: bool = True
    restrict_oom_score: bool = False


def shape(facts: Facts, *, local: bool, nodes: int) -> Shape:
    address = netns.inner_address() if local else "127.0.0.1"
    return Shape(nodes, address, local, facts.cgroup_v2, restrict_oom_score=local and facts.needs_runc_wrapper)


def _cluster_patch(local: bool) -> dict[str, object]:
    # A list in a patch replaces kind's list, so kind's own argument is repeated.
    arguments = {"enable-hostpath-provisioner": "true", "horizontal-pod-autoscaler-sync-period": "5s"}
    patch: dict[str, object] = {
        "kind": "ClusterConfiguration",
        "controllerManager": {"extraArgs": [{"name": n, "value": v} for n, v in arguments.items()]},
    }
    if local:
        patch["etcd"] = {"local": {"imageTag": parts.ETCD_TAG}}
        patch["dns"] = {"imageTag": pins.COREDNS}
    return patch


def config(wanted: Shape) -> dict[str, object]:
    """The document for `kind create cluster --config`."""
    ports = ((GATEWAY_NODE_PORT, GATEWAY_PORT), (PROMETHEUS_NODE_PORT, PROMETHEUS_PORT))
    mappings = [
        {"containerPort": inner, "hostPort": outer, "listenAddress": wanted.address, "protocol": "TCP"}
        for inner, outer in ports
    ]
    networking: dict[str, object] = {"ipFamily": "ipv4", "podSubnet": netns.PODS, "serviceSubnet": netns.SERVICES}
    if wanted.local:
        networking |= {"apiServerAddress": wanted.address, "apiServerPort": API_PORT}
    patches: list[dict[str, object]] = [_cluster_patch(wanted.local)]
    if not wanted.cgroup_v2:
        patches.append({"kind": "KubeletConfiguration", "failCgroupV1": False})
    document: dict[str, object] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": networking,
        "kubeadmConfigPatches": [yaml.safe_dump(patch, sort_keys=False) for patch in patches],
        "nodes": [
            {"role": "control-plane", "extraPortMappings": mappings},
            *({"role": "worker"} for _ in range(wanted.nodes - 1)),
        ],
    }
    if wanted.restrict_oom_score:
        # Without it runc says "can't get final child's PID from pipe: EOF" for every pod.
        table = '[plugins."io.containerd.grpc.v1.cri"]\n  restrict_oom_score_adj = true\n'
        document["containerdConfigPatches"] = [table]
    return document


def node_names(nodes: int) -> list[str]:
    """The names kind gives; with them no command has to ask."""
    workers = [f"{CLUSTER}-worker{index if index > 1 else ''}" for index in range(1, nodes)]
    return [f"{CLUSTER}-control-plane", *workers]


def _kind(paths: Paths) -> Path:
    return gotools.binary(paths, "kind")


def containers(engine: Engine) -> list[str]:
    """Nodes that exist, running or not."""
    label = f"label=io.x-k8s.kind.cluster={CLUSTER}"
    return sorted(engine.docker("ps", "-a", "--filter", label, "--format", "{{.Names}}").split())


def addresses(engine: Engine, nodes: list[str]) -> dict[str, str]:
    """The address of each node in the engine's network."""
    template = "{{.Name}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    lines = engine.docker("inspect", "-f", template, *nodes).splitlines()
    return {name.strip("/"): address for name, address in (line.split() for line in lines if line)}


def create(paths: Paths, engine: Engine, image: str, wanted: Shape) -> None:
    file = paths.state / "kind.yaml"
    write_atomically(file, yaml.safe_dump(config(wanted), sort_keys=False))
    shell.run(
        [
            *(_kind(paths), "create", "cluster", "--name", CLUSTER, "--image", image),
            *("--config", file, "--kubeconfig", paths.kubeconfig, "--wait", "60s"),
        ],
        log=paths.log("kind"),
        env=engine.environment,
    )
    paths.kubeconfig.chmod(0o600)


def delete(paths: Paths, engine: Engine) -> bool:
    if not containers(engine):
        return False
    shell.run(
        [_kind(paths), "delete", "cluster", "--name", CLUSTER, "--kubeconfig", paths.kubeconfig],
        log=paths.log("kind"),
        env=engine.environment,
    )
    return True
