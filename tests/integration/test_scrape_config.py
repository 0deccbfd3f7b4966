"""Who is scraped, and how often: the configuration of docs/prometheus.md and that of the local cluster, on real pods."""

import json
import re
import urllib.request

import pytest
import yaml

from dev.paths import ROOT
from inferenceversion_operator.core.objects.deployment import make_deployment
from inferenceversion_operator.core.objects.differ import make_differ
from tests.support.builders import SETTINGS, a_version, an_endpoint
from tests.support.prometheus import Prometheus
from tests.support.wait import NotYet, wait_until

GUARD, DIFFER = "10.99.0.1", "10.99.0.2"


def of_the_page():
    page = (ROOT / "docs/prometheus.md").read_text()
    (block,) = re.findall(r"```yaml\n(scrape_configs:\n.*?)```", page, re.DOTALL)
    return yaml.safe_load(block)["scrape_configs"]


def of_the_local_cluster():
    objects = yaml.safe_load_all((ROOT / "dev/manifests/prometheus.yaml").read_text())
    (config,) = (obj["data"]["prometheus.yml"] for obj in objects if obj["kind"] == "ConfigMap")
    return yaml.safe_load(config)["scrape_configs"]


@pytest.fixture(scope="module")
def pods(cluster_kubectl):
    """A pod of a version and one of a differ, which only seem to run."""
    namespace = "scraped"
    cluster_kubectl.run("create", "namespace", namespace)
    kubectl = cluster_kubectl.inside(namespace)
    wait_until("the account is there", lambda: "default" in kubectl.run("get", "serviceaccounts"), within=30)
    stable, candidate = a_version("2.4.0"), a_version("2.4.1")
    (differ,) = (obj for obj in make_differ(an_endpoint(), stable, candidate, SETTINGS) if obj["kind"] == "Deployment")
    for name, address, deployment in (
        ("version", GUARD, make_deployment(stable, 1, "config", SETTINGS)),
        ("differ", DIFFER, differ),
    ):
        template = deployment["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": template["metadata"] | {"name": name}}
        kubectl.run("create", "-f", "-", stdin=json.dumps(pod))
        status = {"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}}
        kubectl.run("patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps(status))
    yield namespace
    cluster_kubectl.run("delete", "namespace", namespace, "--wait=false")


@pytest.mark.parametrize("jobs", [of_the_page, of_the_local_cluster])
def test_each_port_is_scraped_once(jobs, pods, plane, tmp_path):
    def at_the_control_plane(job):
        (discovery,) = job["kubernetes_sd_configs"]
        return job | {"kubernetes_sd_configs": [discovery | {"kubeconfig_file": str(plane.kubeconfig)}]}

    with Prometheus(tmp_path, jobs=[at_the_control_plane(job) for job in jobs()]) as running:

        def targets():
            with urllib.request.urlopen(f"{running.url}/api/v1/targets?state=active", timeout=10) as answer:
                active = json.load(answer)["data"]["activeTargets"]
            ours = [target for target in active if target["labels"].get("namespace") == pods]
            if len(ours) < 3:
                raise NotYet(f"{[target['scrapeUrl'] for target in active]}")
            return ours

        found = wait_until("the pods are found", targets, within=30)
    assert sorted(target["scrapeUrl"] for target in found) == [
        f"http://{GUARD}:8002/metrics",
        f"http://{GUARD}:9902/stats/prometheus",
        f"http://{DIFFER}:9902/metrics",
    ]
    assert {target["labels"]["pod"] for target in found} == {"version", "differ"}
