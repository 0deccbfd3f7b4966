"""CLUSTER=existing: a cluster that somebody else made. Nothing is created and nothing deleted."""

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from dev.load_image import Loaded, full_name, repository
from dev.shell import DevError, output

GATEWAY_CLASS = "gatewayclasses.gateway.networking.k8s.io"


def chosen() -> bool:
    return os.environ.get("CLUSTER") == "existing"


def kubeconfig() -> Path:
    value = os.environ.get("KUBECONFIG")
    if not value:
        raise DevError("CLUSTER=existing needs KUBECONFIG")
    return Path(value)


def _kubectl(*words: str) -> str:
    program = shutil.which("kubectl")
    if program is None:
        raise DevError("CLUSTER=existing needs kubectl on PATH")
    return output([program, f"--kubeconfig={kubeconfig()}", *words], timeout=30)


def status() -> dict[str, Any]:
    """As much of the usual document as can be known; addresses come from the environment."""
    server = _kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    nodes = []
    for item in json.loads(_kubectl("get", "nodes", "-o", "json"))["items"]:
        ready = next((c["status"] for c in item["status"]["conditions"] if c["type"] == "Ready"), "Unknown")
        version = item["status"]["nodeInfo"]["kubeletVersion"]
        nodes.append({"name": item["metadata"]["name"], "ready": ready, "version": version})
    return {
        "state": "up",
        "source": "existing",
        "nodes": nodes,
        "kubeconfig": str(kubeconfig()),
        "apiServer": server,
        "gateway": os.environ.get("GATEWAY_ADDRESS", ""),
        "prometheus": os.environ.get("PROMETHEUS_URL", ""),
        "dockerHost": os.environ.get("DOCKER_HOST", ""),
        "images": {},
    }


def check() -> dict[str, Any]:
    """What `up` does here: look whether the cluster has what the project needs."""
    seen = status()
    classes = _kubectl("api-resources", "--api-group=gateway.networking.k8s.io", "-o", "name").split()
    if GATEWAY_CLASS not in classes:
        raise DevError("the cluster has no Gateway API CRDs (gateway.networking.k8s.io)")
    return seen


def load(tag: str) -> Loaded:
    """By the user's own command (IMAGE_LOADER), else by a push to REGISTRY."""
    loader, registry = os.environ.get("IMAGE_LOADER"), os.environ.get("REGISTRY")
    if loader:
        said = output([*shlex.split(loader), tag]).split()
        # A loader may print the reference to use; if not, the tag itself is what a pod can name.
        reference = said[-1] if said and "@sha256:" in said[-1] else tag
        return Loaded(tag, reference, [], loaded=True)
    if not registry:
        raise DevError("CLUSTER=existing: set IMAGE_LOADER (a command that takes a tag) or REGISTRY (host/prefix)")
    name = f"{registry.rstrip('/')}/{full_name(tag).rpartition('/')[2]}"
    output(["docker", "tag", tag, name])
    output(["docker", "push", name])
    digests = output(["docker", "image", "inspect", "-f", "{{range .RepoDigests}}{{println .}}{{end}}", name]).split()
    reference = next((each for each in digests if each.startswith(f"{repository(name)}@")), name)
    return Loaded(name, reference, [], loaded=True)
