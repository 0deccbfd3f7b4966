"""A control plane of the session's own, with our CRDs and the chart's rights; the operator runs from the tree."""

import secrets
import shutil
import subprocess

import pytest
import yaml

from dev import gotools
from dev.paths import ROOT, paths
from tests.support.control_plane import control_plane, kubeconfig_of
from tests.support.kubectl import Kubectl
from tests.support.operator_process import running_operator

SYSTEM = "inferenceversion-system"
CHART = ROOT / "charts" / "inferenceversion-operator"
# The operator's pod is the one object of the chart that a cluster without nodes can't use.
LEFT_OUT = {"Deployment"}


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """A control plane, the same one for every test of this folder."""
    if shutil.which("go") is None:
        pytest.skip("the control plane is built from source: Go is not there")
    with control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="session")
def cluster_kubectl(plane):
    """kubectl as cluster admin; Gateway API, our CRDs and the chart are installed."""
    kubectl = Kubectl(gotools.binary(paths(), "kubernetes", "kubectl"), plane.kubeconfig)
    gateway = gotools.module_folder(paths(), "envoy-gateway", "github.com/envoyproxy/gateway")
    crds = gateway / "charts/gateway-helm/charts/crds/crds/gatewayapi-crds.yaml"
    kubectl.run("apply", "--server-side", "-f", str(crds))
    kubectl.run("create", "namespace", SYSTEM)
    kubectl.run("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(rendered_chart()))
    kubectl.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    return kubectl


def rendered_chart():
    """Return the chart's objects with its defaults."""
    gotools.build(paths(), "helm")
    helm = gotools.binary(paths(), "helm")
    command = [str(helm), "template", "ivo", str(CHART), f"--namespace={SYSTEM}", "--kube-version=1.37.2"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [o for o in yaml.safe_load_all(text) if o and o["kind"] not in LEFT_OUT]


@pytest.fixture
def kubectl(cluster_kubectl):
    """kubectl in a namespace that this test alone uses."""
    name = f"test-{secrets.token_hex(4)}"
    cluster_kubectl.run("create", "namespace", name)
    yield cluster_kubectl.inside(name)
    cluster_kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="session")
def operator(plane, cluster_kubectl, tmp_path_factory):
    """The operator on the whole control plane, with the rights of its chart and no others."""
    account = next(o["metadata"]["name"] for o in rendered_chart() if o["kind"] == "ServiceAccount")
    token = cluster_kubectl.inside(SYSTEM).run("create", "token", account, "--duration=4h").strip()
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = kubeconfig_of(folder / "kubeconfig", plane.url, token)
    parent = '[{"name": "inference", "namespace": "gateways"}]'
    with running_operator(kubeconfig, folder / "operator.log", IVO_GATEWAY_PARENT_REFS=parent) as running:
        yield running
