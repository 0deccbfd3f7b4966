"""What the chart renders: six value sets as goldens, and what must hold in each of them."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from inferenceversion_operator.adapters.kube import resources
from inferenceversion_operator.config import load_config

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CHART = ROOT / "charts" / "inferenceversion-operator"
VALUES = sorted((HERE / "values").glob("*.yaml"))
WITHOUT_CRDS = ("--set", "crds.install=false")  # they have a test of their own, and are long


def of_kind(objects, kind):
    return [obj for obj in objects if obj["kind"] == kind]


@pytest.fixture(params=VALUES, ids=[path.stem for path in VALUES])
def values(request) -> Path:
    return request.param


def test_golden(values, template, golden):
    done = template("-f", values, *WITHOUT_CRDS)
    assert done.returncode == 0, done.stderr
    golden(HERE / "golden" / values.name, done.stdout)


def test_lint(values, helm):
    done = helm("lint", "--strict", CHART, "-f", values, "--kube-version", "v1.37.2")
    assert done.returncode == 0, done.stdout + done.stderr


def test_pod_is_restricted(values, render):
    (deployment,) = of_kind(render("-f", values, *WITHOUT_CRDS), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
    assert not any("hostPath" in volume for volume in pod["volumes"])


def test_selectors_meet_the_pod(values, render):
    objects = render("-f", values, *WITHOUT_CRDS)
    (deployment,) = of_kind(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    selectors = [deployment["spec"]["selector"]["matchLabels"]]
    selectors += [obj["spec"]["selector"]["matchLabels"] for obj in of_kind(objects, "PodDisruptionBudget")]
    selectors += [obj["spec"]["podSelector"]["matchLabels"] for obj in of_kind(objects, "NetworkPolicy")]
    assert all(selector.items() <= labels for selector in selectors)


def test_operator_reads_what_the_chart_writes(values, render):
    (deployment,) = of_kind(render("-f", values, *WITHOUT_CRDS), "Deployment")
    env = {entry["name"]: entry["value"] for entry in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    config = load_config(env)
    given = yaml.safe_load(values.read_text())
    assert list(config.namespaces) == given.get("watchNamespaces", [])
    assert list(config.settings.gateway_parent_refs) == given.get("gateway", {}).get("parentRefs", [])
    assert config.settings.guard_image
    assert config.settings.fetch_image
    assert config.settings.differ_image
    asked = given.get("prometheus", {})
    assert (config.prometheus.url if config.prometheus else "") == asked.get("url", "")
    assert config.settings.prometheus == ("url" in asked)
    if config.prometheus:
        assert config.prometheus.timeout_s == asked.get("timeoutSeconds", 5)
        assert config.prometheus.headers == asked.get("headers", {})


def test_files_that_the_operator_is_told_of_are_mounted(render):
    (deployment,) = of_kind(render("-f", HERE / "values" / "hardened.yaml", *WITHOUT_CRDS), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for variable, kind in (("BEARER_TOKEN_FILE", "secret"), ("CA_FILE", "configMap")):
        folder, _, name = env[f"IVO_PROMETHEUS_{variable}"].rpartition("/")
        assert [item["path"] for item in volumes[mounts[folder]][kind]["items"]] == [name]


@pytest.mark.parametrize(
    ("settings", "ports"),
    [
        (["prometheus.url=http://p:9090"], [9090]),
        (["prometheus.url=http://p"], [80]),
        (["prometheus.url=https://p.example/prometheus"], [443]),
        (["prometheus.url=https://[fd00::1]/a:1"], [443]),
        (["prometheus.url=https://[fd00::1]:9090"], [9090]),
        (["prometheus.url=http://p", "networkPolicy.prometheusPorts={9090,9091}"], [9090, 9091]),
        ([], []),
    ],
)
def test_network_policy_lets_questions_to_prometheus_out(settings, ports, render):
    flags = [flag for setting in ("networkPolicy.enabled=true", *settings) for flag in ("--set", setting)]
    (policy,) = of_kind(render(*flags, *WITHOUT_CRDS), "NetworkPolicy")
    beside = [
        rule
        for rule in policy["spec"]["egress"]
        if [port["port"] for port in rule["ports"]] not in ([53, 53], [443, 6443])
    ]
    assert [port["port"] for rule in beside for port in rule["ports"]] == ports


def test_every_variable_of_the_operator_is_set(render):
    source = (ROOT / "operator/inferenceversion_operator/config.py").read_text()
    (deployment,) = of_kind(render(*WITHOUT_CRDS), "Deployment")
    env = {entry["name"] for entry in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env == set(re.findall(r"\bIVO_[A-Z_]+\b", source))


def test_rights_are_those_of_the_kinds_the_operator_knows(render):
    (role,) = [obj for obj in of_kind(render(*WITHOUT_CRDS), "ClusterRole") if "aggregate" not in json.dumps(obj)]
    granted = {
        (group, resource): set(rule["verbs"])
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    ours = {"list", "watch", "create", "patch", "delete"}
    expected = {_key(child): ours for child in (*resources.CHILDREN, *resources.ROUTES, resources.INFERENCE_ENDPOINT)}
    expected |= {
        _key(seen): {"list", "watch"} for seen in (resources.INFERENCE_VERSION, resources.POD, resources.ENDPOINT_SLICE)
    }
    expected |= {
        _key(resources.EVENT): {"create"},
        ("inferenceversion.io", "inferenceversions/status"): {"patch"},
        ("inferenceversion.io", "inferenceendpoints/status"): {"patch"},
    }
    assert granted == expected


def _key(resource):
    return (resource.api_version.split("/")[0] if "/" in resource.api_version else "", resource.plural)


def test_namespaced_mode_grants_nothing_cluster_wide(render):
    objects = render("-f", HERE / "values" / "namespaced.yaml", *WITHOUT_CRDS)
    assert of_kind(objects, "ClusterRole") == of_kind(objects, "ClusterRoleBinding") == []
    assert [obj["metadata"]["namespace"] for obj in of_kind(objects, "Role")] == ["team-a", "team-b"]
    assert [obj["metadata"]["namespace"] for obj in of_kind(objects, "RoleBinding")] == ["team-a", "team-b"]


def test_namespaced_mode_grants_the_same_rights(render):
    cluster = [obj for obj in of_kind(render(*WITHOUT_CRDS), "ClusterRole") if "aggregate" not in json.dumps(obj)]
    roles = of_kind(render("-f", HERE / "values" / "namespaced.yaml", *WITHOUT_CRDS), "Role")
    assert all(role["rules"] == cluster[0]["rules"] for role in roles)


def test_extra_labels_are_on_every_object(render):
    objects = render("-f", HERE / "values" / "labelled.yaml")
    assert all(obj["metadata"]["labels"]["cost-center"] == "4711" for obj in objects)


def test_crds_are_those_of_the_repository(render):
    rendered = {obj["metadata"]["name"]: obj for obj in of_kind(render(), "CustomResourceDefinition")}
    source = {}
    for path in (ROOT / "crds").glob("*.yaml"):
        crd = yaml.safe_load(path.read_text())
        source[crd["metadata"]["name"]] = crd
    assert rendered.keys() == source.keys()
    for name, crd in rendered.items():
        assert crd["spec"] == source[name]["spec"]
        assert crd["metadata"]["annotations"].pop("helm.sh/resource-policy") == "keep"
        assert crd["metadata"]["annotations"] == source[name]["metadata"].get("annotations", {})


def test_crds_can_be_left_to_others(render):
    assert of_kind(render(*WITHOUT_CRDS), "CustomResourceDefinition") == []


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("replica=1", "replica"),
        ("image.tga=1", "tga"),
        ("log.level=verbose", "level"),
        ("gateway.parentRefs[0].namespace=x", "name"),
        ("gateway.parentRef=x", "parentRef"),
        ("watchNamespaces=team-a", "watchNamespaces"),
        ("watchNamespaces[0]=Team_A", "watchNamespaces"),
        ("image.digest=sha256:abc", "digest"),
        ("networkPolicy.enabled=yes", "enabled"),
        ("resources.limit.memory=1Gi", "limit"),
        ("rollout.readyDeadlineSeconds=0", "readyDeadlineSeconds"),
        ("prometheus.uri=http://p", "uri"),
        ("prometheus.url=p:9090", "url"),
        ("prometheus.url=http://me:secret@p", "url"),
        ("prometheus.url=http://p/?tenant=a", "url"),
        ("prometheus.timeoutSeconds=0", "timeoutSeconds"),
        ("prometheus.timeoutSeconds=61", "timeoutSeconds"),
        ("prometheus.bearerTokenSecretRef=x", "bearerTokenSecretRef"),
        ("prometheus.bearerTokenSecretRef.secret=x", "secret"),
        ("prometheus.headers.a b=c", "a b"),
        ("prometheus.headers.a= b", "headers"),
        ("differ.image.tga=1", "tga"),
        # Two would write side by side.
        ("replicas=2", "replicas"),
    ],
)
def test_schema_refuses(setting, complaint, template):
    done = template("--set", setting)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_every_value_is_documented():
    readme = (CHART / "README.md").read_text()
    missing = [key for key in _paths(yaml.safe_load((CHART / "values.yaml").read_text())) if f"`{key}`" not in readme]
    assert missing == []


def _paths(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("requests", "limits", "resources"):
            yield from _paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


@pytest.mark.parametrize(
    "values", [path for path in VALUES if path.stem in ("default", "namespaced", "external")], ids=lambda p: p.stem
)
def test_notes(values, tmp_path, render, golden):
    # `helm template` does not print the notes: a copy of the chart includes them into an object.
    chart = tmp_path / "inferenceversion-operator"
    shutil.copytree(CHART, chart)
    (chart / "templates" / "notes.yaml").write_text(
        'kind: Notes\nmetadata: {}\nnotes: {{ include (print .Template.BasePath "/NOTES.txt") . | quote }}\n'
    )
    (notes,) = of_kind(render("-f", values, chart=chart), "Notes")
    golden(HERE / "golden" / f"{values.stem}.notes.txt", notes["notes"])
