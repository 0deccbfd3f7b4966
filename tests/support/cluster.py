"""The cluster under test, whoever made it: its addresses, its tools, and the operator in it."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cluster_api import Api
from tests.support.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "inferenceversion-operator"
RELEASE = "ivo"
SYSTEM = "ivo-system"
GATEWAY = {"name": "inference", "namespace": "inference-gateway"}
DOMAIN = "inference.local"


class NoClusterError(Exception):
    """There is no cluster to test on; the message says how to get one."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a test knows of the cluster."""

    kubeconfig: Path
    gateway: str  # host:port
    prometheus: str  # URL
    images: Mapping[str, str]
    environment: Mapping[str, str]  # PATH with kubectl and helm, DOCKER_HOST
    nodes: tuple[str, ...]
    ours: bool  # made by `python -m dev up`
    api: Api

    def tool(self, name: str) -> Path:
        """Return where a program is that belongs to this cluster."""
        found = shutil.which(name, path=self.environment["PATH"])
        if found is None:
            raise AssertionError(f"{name} is not there: it is needed to test on this cluster")
        return Path(found)

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.tool("kubectl"), self.kubeconfig)

    def call(self, words: Sequence[str], *, within: float = 300) -> str:
        """Run a program with the cluster's environment; return its output.

        Raises:
            AssertionError: it failed; the message is what it said.
        """
        done = subprocess.run(
            words, cwd=ROOT, env=dict(self.environment), capture_output=True, text=True, timeout=within, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def dev(self, *words: str, within: float = 900) -> str:
        """Run a command of ``python -m dev``."""
        return self.call([sys.executable, "-m", "dev", *words], within=within)

    def load_image(self, name: str) -> str:
        """Build images/<name> if it changed, load it into the nodes, return ``repository@sha256:...``."""
        return str(json.loads(self.dev("build-image", name, "--load", "-o", "json"))["reference"])


def find_cluster() -> Cluster:
    """Return the cluster that is up.

    Raises:
        NoClusterError: there is none.
    """
    done = _dev("status", "-o", "json")
    seen: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {"state": done.stderr.strip()}
    if seen.get("state") != "up":
        raise NoClusterError(f"the cluster is {seen.get('state')}: `make up` first, or CLUSTER=existing and KUBECONFIG")
    environment = {**os.environ, **_exports(_dev("env").stdout)}
    kubeconfig = Path(seen["kubeconfig"])
    return Cluster(
        kubeconfig=kubeconfig,
        gateway=seen["gateway"],
        prometheus=seen["prometheus"],
        images=seen["images"],
        environment=environment,
        nodes=tuple(node["name"] for node in seen["nodes"]),
        ours=seen["source"] != "existing",
        api=Api(kubeconfig),
    )


def install_operator(cluster: Cluster, operator_image: str, *, values: Mapping[str, str] | None = None) -> None:
    """Install or upgrade the operator by its chart; nothing happens where it is as wanted already."""
    repository, _, digest = operator_image.partition("@")
    guard, _, tag = cluster.images.get("envoy", "docker.io/envoyproxy/envoy:distroless-v1.40.0").rpartition(":")
    wanted = {
        "image.repository": repository,
        "image.digest": digest,
        "guard.image.repository": guard,
        "guard.image.tag": tag,
        "gateway.parentRefs[0].name": GATEWAY["name"],
        "gateway.parentRefs[0].namespace": GATEWAY["namespace"],
        "gateway.domain": DOMAIN,
        **(values or {}),
    }
    sets = [word for name, value in wanted.items() for word in ("--set-string", f"{name}={value}")]
    helm = [str(cluster.tool("helm")), f"--kubeconfig={cluster.kubeconfig}", f"--namespace={SYSTEM}"]
    cluster.call([*helm, "upgrade", "--install", RELEASE, str(CHART), "--create-namespace", *sets, "--wait"])


def operator_pods(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the operator's pods that are not on their way out."""
    pods = cluster.api.all_of("pod", SYSTEM, f"app.kubernetes.io/instance={RELEASE}")
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def kill_operator(cluster: Cluster) -> None:
    """End the operator's process by SIGKILL: it gets no chance to finish what it does."""
    (pod,) = operator_pods(cluster)
    if not cluster.ours:
        cluster.kubectl.inside(SYSTEM).run("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")
        return
    container = pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
    node = ["docker", "exec", pod["spec"]["nodeName"]]
    pid = json.loads(cluster.call([*node, "crictl", "inspect", container]))["info"]["pid"]
    cluster.call([*node, "kill", "-9", str(pid)])


def _dev(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "dev", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def _exports(lines: str) -> dict[str, str]:
    """Read what ``python -m dev env`` prints: ``export NAME=value``, quoted as a shell wants it."""
    words = [word for line in lines.splitlines() for word in shlex.split(line) if "=" in word]
    return dict(word.split("=", 1) for word in words)
