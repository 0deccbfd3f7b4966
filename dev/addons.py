"""What runs in the cluster beside Kubernetes: Gateway API, Envoy Gateway with one Gateway, Prometheus."""

import json
import shutil
import tempfile
from pathlib import Path
from string import Template

from dev import gotools, shell
from dev.kubectl import Kubectl
from dev.paths import DEV, Paths
from dev.pins import AddonImages
from dev.processes import wait_until

MANIFESTS = DEV / "manifests"
GATEWAY_SYSTEM = "envoy-gateway-system"


def manifest(name: str, **values: str) -> str:
    return Template((MANIFESTS / name).read_text()).safe_substitute(values)


def wait_for_dns(kubectl: Kubectl) -> None:
    """Envoy proxies that start before DNS answers stay unready for minutes, so this is a gate and not a courtesy."""
    kubectl.wait("deployment/coredns", "condition=Available", namespace="kube-system")

    def endpoints() -> bool:
        found = kubectl.get("endpointslices", "-n", "kube-system", "-l", "kubernetes.io/service-name=kube-dns")
        return any(item.get("endpoints") for item in found["items"])

    wait_until("endpoints of the Service kube-dns", endpoints, within=60)


def chart_folder(paths: Paths) -> Path:
    return gotools.module_folder(paths, "envoy-gateway", "github.com/envoyproxy/gateway") / "charts/gateway-helm"


def chart_values(images: AddonImages) -> dict[str, object]:
    """Values for Envoy Gateway's own chart: its RBAC and security contexts stay as they are upstream."""
    provider = {"type": "Kubernetes", "kubernetes": {"shutdownManager": {"image": images.gateway}}}
    return {
        "global": {"images": {"envoyGateway": {"image": images.gateway, "pullPolicy": "IfNotPresent"}}},
        "crds": {"enabled": False},
        "topologyInjector": {"enabled": False},
        "config": {"envoyGateway": {"provider": provider}},
        "deployment": {"envoyGateway": {"readinessProbe": {"periodSeconds": 1}}},
    }


def render_chart(paths: Paths, images: AddonImages) -> str:
    """The module has only a template of values.yaml; its two placeholders are set here."""
    with tempfile.TemporaryDirectory() as temporary:
        chart = Path(temporary) / "gateway-helm"
        shutil.copytree(chart_folder(paths), chart, copy_function=shutil.copyfile)
        for folder in (chart, *chart.rglob("*/")):
            folder.chmod(0o755)  # the module cache is read-only, and copytree copies modes of folders
        template = (chart / "values.tmpl.yaml").read_text()
        substituted = template.replace("${GatewayImage}", images.gateway)
        (chart / "values.yaml").write_text(substituted.replace("${GatewayImagePullPolicy}", "IfNotPresent"))
        values = Path(temporary) / "values.json"
        values.write_text(json.dumps(chart_values(images)))
        helm = [str(gotools.binary(paths, "helm")), "template", "eg", str(chart), "--namespace", GATEWAY_SYSTEM]
        return shell.output([*helm, "-f", values])


def gateway_crds(paths: Paths) -> str:
    folder = chart_folder(paths) / "charts/crds/crds"
    files = [folder / "gatewayapi-crds.yaml", *sorted((folder / "generated").glob("*.yaml"))]
    return "\n---\n".join(file.read_text() for file in files)


def install_gateway_api(paths: Paths, kubectl: Kubectl) -> None:
    """Needs the API server only, so it runs while the nodes become Ready."""
    kubectl.apply(gateway_crds(paths))


def install_gateway(paths: Paths, kubectl: Kubectl, images: AddonImages) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GATEWAY_SYSTEM}}
    kubectl.apply(json.dumps(namespace))
    kubectl.apply(render_chart(paths, images))
    kubectl.wait("deployment/envoy-gateway", "condition=Available", namespace=GATEWAY_SYSTEM)
    kubectl.apply(manifest("gateway.yaml", ENVOY_IMAGE=images.envoy))
    kubectl.wait("gateway/inference", "condition=Programmed", namespace="inference-gateway")


def install_prometheus(kubectl: Kubectl, images: AddonImages) -> None:
    kubectl.apply(manifest("prometheus.yaml", PROMETHEUS_IMAGE=images.prometheus))
    kubectl.wait("deployment/prometheus", "condition=Available", namespace="monitoring")
