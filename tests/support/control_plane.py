"""A control plane of its own for one test session: real etcd, kube-apiserver and kube-controller-manager on loopback.

It has no nodes and no kubelet, starts in a few seconds, and may be stopped, starved or lied to by a test without
disturbing the cluster that the e2e tests use. Its audit log tells who wrote what.
"""

import contextlib
import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from dev import gotools, kwok
from dev.paths import paths
from tests.support.ports import free_ports
from tests.support.wait import NotYet, wait_until

_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
    ],
}
WRITES = ("create", "update", "patch", "delete", "deletecollection")
_PROGRAMS = ("kubernetes", "etcd")


@dataclass(frozen=True, slots=True)
class Request:
    """One line of the audit log."""

    verb: str
    resource: str
    subresource: str
    group: str
    namespace: str
    name: str
    code: int


@dataclass(slots=True)
class ControlPlane:
    """A running control plane.

    Attributes:
        kubeconfig: of a cluster admin.
    """

    folder: Path
    kubeconfig: Path
    url: str
    token: str

    def requests(self, user_agent: str = "") -> list[Request]:
        """Return the requests for objects from clients whose user agent begins like this, from the audit log."""
        lines = (self.folder / "audit.log").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        return [
            Request(
                entry["verb"],
                ref["resource"],
                ref.get("subresource", ""),
                ref.get("apiGroup", ""),
                ref.get("namespace", ""),
                ref.get("name", ""),
                entry["responseStatus"]["code"],
            )
            for entry in entries
            if (ref := entry.get("objectRef")) and entry.get("userAgent", "").startswith(user_agent)
        ]

    def writes(self) -> list[Request]:
        """Return every write of the operator."""
        return [r for r in self.requests("inferenceversion-operator") if r.verb in WRITES]

    def ready(self) -> bool:
        """Say whether /readyz says ok; what it says instead is raised as ``NotYet``."""
        kubectl = gotools.binary(paths(), "kubernetes", "kubectl")
        asked = [str(kubectl), f"--kubeconfig={self.kubeconfig}", "get", "--raw", "/readyz"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
        if answer.stdout != "ok":
            raise NotYet(answer.stdout + answer.stderr)
        return True


@contextlib.contextmanager
def control_plane(folder: Path, fake_nodes: int = 0, controller_qps: int | None = None) -> Iterator[ControlPlane]:
    """Start a control plane and stop it at the end.

    Args:
        folder: for its files; logs and the audit log stay there.
        fake_nodes: so many kwok nodes, on which pods are Ready at once without running; with them comes a scheduler.
        controller_qps: requests a second that each controller and the scheduler may send; by default Kubernetes' 20 and 50.
    """
    build(*_PROGRAMS)
    kubernetes, etcd = gotools.folder(paths(), "kubernetes"), gotools.folder(paths(), "etcd")
    etcd_port, peer_port, api_port = free_ports(3)
    pace = [f"--kube-api-qps={controller_qps}", f"--kube-api-burst={2 * controller_qps}"] if controller_qps else []
    token = secrets.token_hex(16)
    plane = ControlPlane(folder, folder / "kubeconfig", f"https://127.0.0.1:{api_port}", token)
    _write_files(plane)
    with contextlib.ExitStack() as stack:
        etcd_url = f"http://127.0.0.1:{etcd_port}"

        def start(name: str, *command: object) -> None:
            stack.enter_context(_running(folder, name, [str(word) for word in command]))

        start(
            "etcd",
            etcd / "etcd",
            f"--data-dir={folder}/etcd",
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd_url}",
            f"--advertise-client-urls={etcd_url}",
            f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
        )
        start("apiserver", kubernetes / "kube-apiserver", *_apiserver_flags(folder, etcd_url, api_port))
        wait_until("the API server is ready", plane.ready, within=60)
        start(
            "controller-manager",
            kubernetes / "kube-controller-manager",
            f"--kubeconfig={plane.kubeconfig}",
            f"--service-account-private-key-file={folder}/sa.key",
            "--leader-elect=false",
            "--secure-port=0",
            *pace,
        )
        if fake_nodes:
            start(
                "scheduler",
                kubernetes / "kube-scheduler",
                f"--kubeconfig={plane.kubeconfig}",
                "--leader-elect=false",
                "--secure-port=0",
                *pace,
            )
            start("kwok", *_kwok(folder, plane.kubeconfig))
            nodes = json.dumps({"apiVersion": "v1", "kind": "List", "items": [kwok.node(n) for n in range(fake_nodes)]})
            command = [str(kubernetes / "kubectl"), f"--kubeconfig={plane.kubeconfig}", "create", "-f", "-"]
            subprocess.run(command, input=nodes, text=True, check=True, capture_output=True)
        yield plane


def build(*programs: str) -> None:
    """Build what is not in the cache yet: minutes the first time, nothing later."""
    for name in programs:
        gotools.build(paths(), name)


def _kwok(folder: Path, kubeconfig: Path) -> list[object]:
    gotools.build(paths(), "kwok")
    stages = gotools.module_folder(paths(), "kwok", "sigs.k8s.io/kwok") / "kustomize/stage"
    file = folder / "kwok.yaml"
    file.write_text(kwok.configuration([(stages / stage).read_text() for stage in kwok.STAGES]))
    return [gotools.binary(paths(), "kwok"), f"--kubeconfig={kubeconfig}", "-c", file]


def _apiserver_flags(folder: Path, etcd_url: str, port: int) -> list[str]:
    return [
        f"--etcd-servers={etcd_url}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        f"--token-auth-file={folder}/tokens.csv",
        f"--cert-dir={folder}/certs",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder}/sa.key",
        f"--service-account-signing-key-file={folder}/sa.key",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--audit-policy-file={folder}/audit-policy.yaml",
        f"--audit-log-path={folder}/audit.log",
        "--audit-log-mode=blocking",
    ]


def _write_files(plane: ControlPlane) -> None:
    folder = plane.folder
    subprocess.run(["openssl", "genrsa", "-out", str(folder / "sa.key"), "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{plane.token},admin,admin,system:masters\n")
    (folder / "audit-policy.yaml").write_text(yaml.safe_dump(_AUDIT))
    (folder / "audit.log").touch()
    kubeconfig_of(plane.kubeconfig, plane.url, plane.token)


def kubeconfig_of(path: Path, url: str, token: str) -> Path:
    """Write a kubeconfig for one bearer token and return its path."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(config))
    return path


@contextlib.contextmanager
def _running(folder: Path, name: str, command: list[str]) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.kill()  # nothing of it is kept


if __name__ == "__main__":  # make control-plane
    if shutil.which("go") is None:
        print("Go is not there: tests that need a control plane are skipped", file=sys.stderr)
    else:
        build(*_PROGRAMS, "helm", "prometheus")
