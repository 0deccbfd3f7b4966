"""The cluster that is up, whoever made it: its addresses, its tools, and how the operator gets into it."""

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

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "charts" / "inferenceversion-operator"
RELEASE = "ivo"
SYSTEM = "ivo-system"
# The Gateway that `python -m dev up` makes; a cluster of one's own has a Gateway of this name or says another.
GATEWAY = {
    "name": os.environ.get("GATEWAY_NAME", "inference"),
    "namespace": os.environ.get("GATEWAY_NAMESPACE", "inference-gateway"),
}
DOMAIN = "inference.local"
# As pods reach it; on a cluster of one's own it may have another address than from here.
PROMETHEUS = os.environ.get("PROMETHEUS_IN_CLUSTER", "")
_IN_CLUSTER_PROMETHEUS = "http://prometheus.monitoring:9090"
_PUBLIC_ENVOY = "docker.io/envoyproxy/envoy:distroless-v1.40.0"


class NoClusterError(Exception):
    """There is no cluster; the message says how to get one."""


class CommandFailedError(AssertionError):
    """A program ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What there is to know about the cluster."""

    kubeconfig: Path
    gateway: str  # host:port
    prometheus: str  # URL
    images: Mapping[str, str]
    environment: Mapping[str, str]  # PATH with kubectl and helm, DOCKER_HOST
    nodes: tuple[str, ...]
    ours: bool  # made by `python -m dev up`

    def tool(self, name: str) -> Path:
        """Return where a program is that belongs to this cluster."""
        found = shutil.which(name, path=self.environment["PATH"])
        if found is None:
            raise NoClusterError(f"{name} is not in PATH: it is needed to work with this cluster")
        return Path(found)

    def call(self, words: Sequence[str], *, stdin: str | None = None, within: float = 300) -> str:
        """Run a program with the cluster's environment; return its output.

        Raises:
            CommandFailedError: it failed.
        """
        done = subprocess.run(
            words,
            cwd=ROOT,
            env=dict(self.environment),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
        if done.returncode:
            raise CommandFailedError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        return self.call([str(self.tool("kubectl")), f"--kubeconfig={self.kubeconfig}", *words], stdin=stdin)

    def helm(self, *words: str) -> str:
        place = [f"--kubeconfig={self.kubeconfig}", f"--namespace={SYSTEM}"]
        return self.call([str(self.tool("helm")), *place, *words])

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
    return Cluster(
        kubeconfig=Path(seen["kubeconfig"]),
        gateway=seen["gateway"],
        prometheus=seen["prometheus"],
        images=seen["images"],
        environment={**os.environ, **read_exports(_dev("env").stdout)},
        nodes=tuple(node["name"] for node in seen["nodes"]),
        ours=seen["source"] != "existing",
    )


def install_operator(cluster: Cluster, operator_image: str, values: Mapping[str, str] | None = None) -> None:
    """Install or upgrade the operator by its chart; nothing happens where it is as wanted already."""
    wanted = {
        **image_values("image", operator_image),
        **image_values("guard.image", cluster.images.get("envoy", _PUBLIC_ENVOY)),
        "gateway.parentRefs[0].name": GATEWAY["name"],
        "gateway.parentRefs[0].namespace": GATEWAY["namespace"],
        "gateway.domain": DOMAIN,
        "prometheus.url": _IN_CLUSTER_PROMETHEUS if cluster.ours else PROMETHEUS or cluster.prometheus,
        **(values or {}),
    }
    sets = [word for name, value in wanted.items() for word in ("--set-string", f"{name}={value}")]
    cluster.helm("upgrade", "--install", RELEASE, str(CHART), "--create-namespace", *sets, "--wait", "--timeout=3m")


def image_values(prefix: str, reference: str) -> dict[str, str]:
    """Return the chart's values for an image.

    >>> image_values("image", "localhost:5000/operator:1@sha256:ab")
    {'image.repository': 'localhost:5000/operator', 'image.tag': '1', 'image.digest': 'sha256:ab'}
    """
    name, _, digest = reference.partition("@")
    path, slash, last = name.rpartition("/")  # a colon before the last slash is a port's
    last, _, tag = last.partition(":")
    parts = {"repository": path + slash + last, "tag": tag, "digest": digest}
    return {f"{prefix}.{part}": value for part, value in parts.items() if value}


def read_exports(lines: str) -> dict[str, str]:
    """Read what ``python -m dev env`` prints: ``export NAME=value``, quoted as a shell wants it."""
    words = [word for line in lines.splitlines() for word in shlex.split(line) if "=" in word]
    return dict(word.split("=", 1) for word in words)


def _dev(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "dev", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
