"""A control plane of the session's own, with our CRDs; the operator runs from the tree."""

import os
import secrets
import shutil

import pytest

from dev import gotools
from dev.paths import ROOT, paths
from tests.support.control_plane import control_plane
from tests.support.kubectl import Kubectl
from tests.support.operator_process import running_operator


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """A control plane; KUBECONFIG names it for whatever else runs in this session."""
    if shutil.which("go") is None:
        pytest.skip("the control plane is built from source: Go is not there")
    with control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        before = os.environ.get("KUBECONFIG")
        os.environ["KUBECONFIG"] = str(running.kubeconfig)
        yield running
        if before is None:
            del os.environ["KUBECONFIG"]
        else:
            os.environ["KUBECONFIG"] = before


@pytest.fixture(scope="session")
def cluster_kubectl(plane):
    kubectl = Kubectl(gotools.folder(paths(), "kubernetes") / "kubectl", plane.kubeconfig)
    kubectl.run("apply", "-f", str(ROOT / "crds"))
    kubectl.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    return kubectl


@pytest.fixture
def kubectl(cluster_kubectl):
    """kubectl in a namespace that this test alone uses."""
    name = f"test-{secrets.token_hex(4)}"
    cluster_kubectl.run("create", "namespace", name)
    yield cluster_kubectl.inside(name)
    cluster_kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="session")
def operator(plane, cluster_kubectl, tmp_path_factory):
    """The operator on the whole control plane; a test may kill it and has to start it again."""
    with running_operator(plane.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log") as running:
        yield running
