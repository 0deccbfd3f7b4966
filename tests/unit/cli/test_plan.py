"""plan: what applying manifests would do, by the operator's own decision; nothing is written."""

import json
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.cli.views.plan.endpoint import Scene, plan_endpoint
from inferenceversion_operator.cli.views.plan.manifest import predict
from inferenceversion_operator.cli.views.plan.settings import infer_settings
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.core.snapshot import Snapshot
from tests.support.builders import SETTINGS
from tests.unit.cli.conftest import GOLDEN

pytestmark = pytest.mark.usefixtures("in_the_canary")
NOW = datetime(2026, 11, 30, 10, 22, tzinfo=UTC)
OBJECTS = list(yaml.safe_load_all((GOLDEN / "news.yaml").read_text()))
VERSIONS = [obj for obj in OBJECTS if obj["kind"] == "InferenceVersion"]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PLURALS = {
    "ConfigMap": "configmaps",
    "Service": "services",
    "Deployment": "deployments",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "HTTPRoute": "httproutes",
    "GRPCRoute": "grpcroutes",
}


def the_children():
    """Return what the operator made of news.yaml: its decision, carried out, and every pod ready."""
    seen = Snapshot("news", "news-sentiment", SETTINGS, parse_endpoint(OBJECTS[0]), tuple(map(parse_version, VERSIONS)))
    plan = decide(seen, NOW)
    made = [deepcopy(dict(obj)) for obj in (*plan.capacity, *plan.traffic, *plan.release)]
    slices = []
    for obj in made:
        obj["metadata"]["uid"] = f"uid-{obj['kind']}-{obj['metadata']['name']}"
        if obj["kind"] == "Deployment":
            count = obj["spec"]["replicas"]
            obj["status"] = {"replicas": count, "readyReplicas": count}
            pods = [{"targetRef": {"uid": f"pod-{n}"}, "conditions": {"ready": True}} for n in range(count)]
            name = obj["metadata"]["name"]
            labels = {**obj["metadata"]["labels"], "kubernetes.io/service-name": name}
            slices.append(
                {
                    "kind": "EndpointSlice",
                    "metadata": {"name": name, "namespace": "news", "labels": labels},
                    "endpoints": pods,
                }
            )
    return made, slices


@pytest.fixture
def deployed(cluster):
    """The cluster with the children of news-sentiment."""
    made, slices = the_children()
    cluster.children |= {plural: [o for o in made if o["kind"] == kind] for kind, plural in PLURALS.items()}
    cluster.children |= {"endpointslices": slices}
    yield cluster
    assert cluster.patches == []


@pytest.fixture
def new_version(a_manifest):
    """2.4.3: a shorter timeout, by a canary of two steps."""
    canary = {"strategy": "Canary", "canary": {"steps": [{"weight": 10}, {"weight": 50, "minDuration": "1h"}]}}
    changes = {"spec.version": "2.4.3", "spec.guardrails.timeout": "3s", "spec.traffic": canary}
    return a_manifest(changes, name="news-sentiment-2.4.3")


def plan_of(iv, *words):
    result = iv("plan", *words, "-o", "json")
    assert result.stdout, result.stderr
    return json.loads(result.stdout)


# ---- versions ----


def test_a_new_version_supersedes_the_candidate(iv, deployed, files, new_version, golden):
    path = files("v.yaml", new_version)
    result = iv("plan", "-f", path)
    assert (result.exit_code, result.stderr) == (0, "")
    golden(GOLDEN / "plan" / "a-new-version.txt", result.stdout.replace(str(path), "v.yaml"))
    golden(GOLDEN / "plan" / "a-new-version.md", iv("plan", "-f", path, "-o", "markdown").stdout)
    view = plan_of(iv, path)
    golden(GOLDEN / "plan" / "a-new-version.json", json.dumps(view, indent=2).replace(str(path), "v.yaml") + "\n")
    (endpoint,) = view["endpoints"]
    assert (endpoint["wantedBefore"], endpoint["wantedAfter"]) == ("2.4.2", "2.4.3")
    assert endpoint["release"][-1] == "100 %"
    assert "Superseded" in endpoint["ends"][0]
    created = {(o["kind"], o["name"]) for o in endpoint["objects"] if o["fate"] == "created"}
    assert ("Deployment", version_name("news-sentiment-2.4.3")) in created
    assert deployed.dry_runs[0]["metadata"] == {"name": "news-sentiment-2.4.3", "namespace": "news"}


def test_what_is_there_already_changes_nothing(iv, deployed, files):
    written = [
        {**{key: obj[key] for key in ("apiVersion", "kind", "spec")}, "metadata": {"name": obj["metadata"]["name"]}}
        for obj in OBJECTS
        if obj["metadata"]["namespace"] == "news"
    ]
    path = files("all.yaml", *written)
    result = iv("plan", path, "--exit-code")
    assert result.exit_code == 0, result.stdout
    assert result.stdout.count(" unchanged") == len(written)
    assert "nothing changes: 2.4.1 serves" in result.stdout


def test_a_snapshot_is_immutable(iv, deployed, files, a_manifest):
    path = files("v.yaml", a_manifest({"spec.guardrails.timeout": "3s"}))
    result = iv("plan", "-f", path)
    assert result.exit_code == 1
    assert f"{path}:1: InferenceVersion/news-sentiment-2.4.0 refused 2.4.0" in result.stdout
    assert "spec.guardrails.timeout: 5s -> 3s" in result.stdout
    (manifest,) = plan_of(iv, path)["manifests"]
    assert manifest["effect"] == "refused"
    assert any("immutable" in problem for problem in manifest["problems"])
    assert deployed.dry_runs == []  # the rule says it without the API server
    assert "nothing changes: 2.4.1 serves" in result.stdout


def test_what_may_change_is_shown_with_its_effect(iv, deployed, files):
    live = next(v for v in VERSIONS if v["spec"]["version"] == "2.4.1")
    manifest = {key: deepcopy(live[key]) for key in ("apiVersion", "kind", "spec")}
    manifest["metadata"] = {"name": "news-sentiment-2.4.1"}
    manifest["spec"]["autoscaling"]["minReplicas"] = 5
    view = plan_of(iv, files("v.yaml", manifest))
    assert view["manifests"][0]["effect"] == "changed"
    assert view["manifests"][0]["changes"] == [{"field": "autoscaling.minReplicas", "a": 1, "b": 5, "counts": False}]
    (deployment,) = (o for o in view["endpoints"][0]["objects"] if o["kind"] == "Deployment")
    assert deployment["fields"] == [{"field": "spec.replicas", "before": "1", "after": "5"}]


def test_what_the_schema_refuses(iv, deployed, files, a_manifest):
    path = files("v.yaml", a_manifest({"spec.version": "v2", "spec.triton.maxBatchSize": "many"}, name="x"))
    result = iv("plan", path)
    assert result.exit_code == 1
    assert "refused" in result.stdout
    assert "spec.triton.maxBatchSize" in result.stdout


def test_what_admission_refuses(iv, deployed, files, new_version):
    deployed.refuse_dry_run = (422, {"message": "admission webhook denied: no images from there"})
    result = iv("plan", files("v.yaml", new_version))
    assert result.exit_code == 1
    assert "the API server refuses: admission webhook denied: no images from there" in result.stdout


def test_who_may_not_ask_is_told_that_admission_was_not_asked(iv, deployed, files, new_version):
    deployed.refuse_dry_run = (403, {"message": "User x cannot patch"})
    result = iv("plan", files("v.yaml", new_version))
    assert result.exit_code == 0
    assert "note: admission was not asked: cluster" in result.stderr
    assert "wanted: 2.4.2 -> 2.4.3" in result.stdout


def test_two_objects_of_one_version(iv, deployed, files, a_manifest):
    double = a_manifest({"spec.version": "2.4.1"}, name="a-double")
    result = iv("plan", files("v.yaml", double))
    assert result.exit_code == 1
    assert "spec.version 2.4.1 of endpoint news-sentiment is taken by another InferenceVersion" in result.stdout


# ---- the endpoint ----


def an_endpoint(**spec):
    return {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": "news-sentiment"},
        "spec": spec,
    }


def test_a_pin_is_a_rollback(iv, deployed, files):
    view = plan_of(iv, files("e.yaml", an_endpoint(version="2.4.0")))
    (endpoint,) = view["endpoints"]
    assert (endpoint["stable"], endpoint["wantedAfter"]) == ("2.4.1", "2.4.0")
    assert endpoint["whyAtOnce"] == "it was stable before, so it takes over at once"
    assert {"version": "2.4.1", "before": "Stable", "after": "Warm"} in endpoint["roles"]
    assert any("Superseded" in end for end in endpoint["ends"])
    assert any("2.4.2 is held back by the pin to 2.4.0" in reason for reason in endpoint["held"])


def test_a_pin_to_nothing_is_told(iv, deployed, files):
    view = plan_of(iv, files("e.yaml", an_endpoint(version="9.9.9")))
    assert any(reason.startswith("VersionNotFound: ") for reason in view["endpoints"][0]["held"])


def test_a_new_version_under_a_pin_or_a_pause_waits(iv, deployed, files, new_version):
    pinned = plan_of(iv, files("p.yaml", new_version, an_endpoint(version="2.4.1")))["endpoints"][0]
    assert pinned["wantedAfter"] == "2.4.1"
    assert "2.4.3 is held back by the pin to 2.4.1: kubectl iv unpin news-sentiment" in pinned["held"]
    paused = plan_of(iv, files("q.yaml", new_version, an_endpoint(paused=True)))["endpoints"][0]
    assert "2.4.3 is held back: the endpoint is paused (kubectl iv resume news-sentiment)" in paused["held"]
    assert not any(o["kind"] == "Deployment" and o["fate"] == "created" for o in paused["objects"])


def test_the_first_version_of_an_endpoint(iv, cluster, files, a_manifest):
    manifest = a_manifest({"spec.endpoint": "spam", "spec.version": "1.0.0"}, name="spam-1.0.0", namespace="fresh")
    result = iv("plan", files("v.yaml", manifest))
    assert result.exit_code == 0
    assert "fresh/spam\n  is new\n  wanted: none -> 1.0.0\n" in result.stdout
    assert "the first version of an endpoint takes over at once" in result.stdout
    assert "note: nothing of the operator is in namespace fresh yet" in result.stderr
    assert iv("plan", files("v.yaml", manifest), "--exit-code").exit_code == 1


def test_without_a_gateway_a_canary_is_held_back(iv, deployed, files, new_version):
    del deployed.children["httproutes"], deployed.children["grpcroutes"]
    view = plan_of(iv, files("v.yaml", new_version))
    assert any(reason.startswith("GatewayRequired: ") for reason in view["endpoints"][0]["held"])


def test_what_this_user_may_not_see_is_noted(iv, deployed, files, new_version):
    deployed.children["poddisruptionbudgets"] = (403, {"message": "User x cannot list"})
    result = iv("plan", files("v.yaml", new_version))
    assert result.exit_code == 0
    assert "note: poddisruptionbudgets were not looked at: cluster" in result.stderr


def test_markdown_quotes_nothing_as_markup(iv, deployed, files, a_manifest):
    evil = "</summary><script>x</script> | ``` @all *b* [a](http://b)"
    manifest = a_manifest({"spec.version": "2.4.3", "spec.runtime.env": [{"name": "A", "value": evil}]}, name="x")
    manifest["spec"]["triton"]["parameters"] = {"a": evil}
    live = deepcopy(VERSIONS[0])
    live["metadata"]["name"] = "x"
    deployed.add(live)
    text = iv("plan", files("v.yaml", manifest), "-o", "markdown").stdout
    assert "<script>" not in text.partition("```")[0]
    assert "\\<script\\>" in text
    assert "@all" not in text


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("kind: ConfigMap\n", 1, "no InferenceVersion or InferenceEndpoint in"),
        ("apiVersion: inferenceversion.io/v1alpha1\nkind: InferenceVersion\n", 1, "set metadata.name"),
        ("apiVersion: inferenceversion.io/v1alpha1\nkind: Other\nmetadata: {name: x}\n", 1, ""),
    ],
)
def test_a_file_that_has_nothing_to_plan(iv, deployed, tmp_path, text, code, said):
    (tmp_path / "f.yaml").write_text(text)
    result = iv("plan", tmp_path / "f.yaml")
    assert result.exit_code == code
    assert said in result.stderr


# ---- the pure parts ----


def test_kubectl_apply_removes_what_it_applied_before_and_nothing_else():
    live = deepcopy(OBJECTS[0])
    live["spec"] |= {"version": "2.4.0", "gateway": {"hostnames": ["a.example"], "parentRefs": [{"name": "g"}]}}
    before = {"spec": {"gateway": {"hostnames": ["a.example"]}, "retention": {"warm": 1}}}
    live["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(before)}
    after = predict(an_endpoint(gateway={"parentRefs": [{"name": "h"}]}), live, None)
    assert after["spec"]["gateway"] == {"parentRefs": [{"name": "h"}]}
    assert "retention" not in after["spec"]
    assert after["spec"]["version"] == "2.4.0"  # somebody pinned it: not kubectl apply's
    assert after["metadata"]["generation"] == live["metadata"]["generation"] + 1
    assert predict(an_endpoint(), live, {"spec": {"paused": True}})["spec"].get("paused") is False


def test_what_server_side_apply_would_store_is_taken_where_that_is_how_it_is_applied():
    live = deepcopy(OBJECTS[0])
    after = predict(an_endpoint(), live, {"spec": {"paused": True}})
    assert after["spec"] == {"paused": True}
    assert after["status"] == live["status"]


def test_settings_are_read_from_what_the_operator_made():
    made, _ = the_children()
    settings = infer_settings("news-sentiment", "news", made)
    assert settings.guard_image.startswith("envoy@")
    assert settings.fetch_image.startswith("operator@")
    assert settings.gateway_parent_refs[0]["name"] == "inference"
    assert settings.gateway_domain == "inference.local"


def test_the_same_before_and_after_is_no_change():
    made, slices = the_children()
    scene = Scene(OBJECTS[0], VERSIONS, [*made, *slices])
    settings = infer_settings("news-sentiment", "news", made)
    plan = plan_endpoint(("news", "news-sentiment"), scene, scene, settings, NOW)
    assert not plan.changes
    assert plan.objects == ()
    broken = replace(scene, versions=[*VERSIONS, {"metadata": {"name": "b", "namespace": "news"}, "spec": {}}])
    assert not plan_endpoint(("news", "news-sentiment"), scene, broken, settings, NOW).changes
