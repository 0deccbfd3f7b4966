"""The pure part of the cluster commands: objects in, data out."""

import json
from copy import deepcopy
from datetime import UTC, datetime

import pytest
import yaml

from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.views.age import age
from inferenceversion_operator.cli.views.move import plan_rollback, previous_version
from inferenceversion_operator.cli.views.owner import change_in_git, find_owner
from inferenceversion_operator.cli.views.status import view_endpoint, view_endpoints, view_versions
from inferenceversion_operator.cli.views.wanted import wanted_without_pin
from tests.unit.cli.conftest import GOLDEN

OBJECTS = list(yaml.safe_load_all((GOLDEN / "news.yaml").read_text()))


@pytest.fixture
def endpoint():
    return deepcopy(OBJECTS[0])


@pytest.fixture
def versions():
    return deepcopy([obj for obj in OBJECTS if obj["kind"] == "InferenceVersion"])


def by_version(versions, wanted):
    return next(version for version in versions if version["spec"]["version"] == wanted)


def set_condition(obj, kind, status, reason, message):
    conditions = [c for c in obj["status"]["conditions"] if c["type"] != kind]
    obj["status"]["conditions"] = [*conditions, {"type": kind, "status": status, "reason": reason, "message": message}]


# ---- status ----


def test_versions_come_highest_first_and_by_precedence(versions):
    for version, text in zip(versions, ("2.4.0-rc.1", "2.4.0", "2.10.0", "2.4.0-rc.10"), strict=True):
        version["spec"]["version"] = text
    assert [v.version for v in view_versions(versions, None)] == ["2.10.0", "2.4.0", "2.4.0-rc.10", "2.4.0-rc.1"]


def test_what_cannot_be_sorted_comes_last(versions):
    versions[1]["spec"]["version"] = "broken"
    versions[2]["spec"] = None
    assert {v.version for v in view_versions(versions, None)[-2:]} == {"broken", ""}


def test_a_status_of_an_earlier_spec_is_told(endpoint, versions):
    assert view_endpoint(endpoint, versions).up_to_date
    endpoint["metadata"]["generation"] += 1
    assert not view_endpoint(endpoint, versions).up_to_date


def test_a_version_that_somebody_insists_on_says_how_it_does_now(endpoint, versions):
    version = by_version(versions, "2.3.0")
    set_condition(version, "Reconciling", "True", "Canary", "version 2.3.0 has 20 %")
    assert view_versions(versions, None)[3].reason == "ReleaseFailed"
    version["status"]["role"] = "Candidate"
    assert view_versions(versions, None)[3].reason == "Canary"


def test_versions_go_to_their_endpoint_and_namespace(versions):
    views = view_endpoints([obj for obj in OBJECTS if obj["kind"] == "InferenceEndpoint"], versions)
    assert [(view.namespace, view.name, len(view.versions)) for view in views] == [
        ("mail", "spam", 0),
        ("news", "news-sentiment", 4),
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172800, "2d")],
)
def test_age(seconds, shown):
    now = datetime.fromtimestamp(1_800_000_000 + seconds, UTC)
    assert age(datetime.fromtimestamp(1_800_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), now) == shown
    assert age(None, now) == "-"


# ---- rollback ----


def test_rollback_to_a_warm_version(endpoint, versions):
    move = plan_rollback(endpoint, versions, "2.4.0")
    assert (move.to, move.from_stable, move.served_before, move.ready_replicas) == ("2.4.0", "2.4.1", True, 1)
    assert move.refusals == ()
    assert move.notes == (
        "version 2.4.0 is warm (1 ready): traffic moves at once",
        "the release of 2.4.2 ends (canary step 2 of 3, 25 %)",
        "version 2.4.1 stays warm (retention.warm: 1)",
    )


def test_rollback_by_the_name_of_the_object(endpoint, versions):
    assert plan_rollback(endpoint, versions, "news-sentiment-2.4.0") == plan_rollback(endpoint, versions, "2.4.0")


@pytest.mark.parametrize("wanted", ["9.9.9", "news-sentiment-9.9.9", "2.4"])
def test_what_does_not_exist_is_refused_with_what_does(endpoint, versions, wanted):
    move = plan_rollback(endpoint, versions, wanted)
    (refusal,) = move.impossible
    assert move.refusals == ()
    assert wanted in refusal
    assert "there are 2.4.2, 2.4.1, 2.4.0, 2.3.0" in refusal


def test_a_failed_version_is_refused_with_its_cause(endpoint, versions):
    (refusal,) = plan_rollback(endpoint, versions, "2.3.0").refusals
    assert refusal.startswith("version 2.3.0 failed: not Ready within 900 s: LoadFailed")


def test_what_can_never_be_ready_is_refused(endpoint, versions):
    set_condition(by_version(versions, "2.4.2"), "Stalled", "True", "WeightHashDiffers", "expected a, got b")
    by_version(versions, "2.4.2")["status"]["readyReplicas"] = 0
    (refusal,) = plan_rollback(endpoint, versions, "2.4.2").refusals
    assert refusal == "version 2.4.2 can't become Ready: WeightHashDiffers: expected a, got b"


def test_of_two_objects_with_one_version_the_accepted_one_is_meant(endpoint, versions):
    double = deepcopy(by_version(versions, "2.4.0"))
    double["metadata"]["name"] = "a-double"
    double["metadata"]["creationTimestamp"] = "2026-11-30T11:00:00Z"
    for kind in ("Ready", "Stalled"):
        set_condition(double, kind, "True" if kind == "Stalled" else "False", "DuplicateVersion", "taken")
    assert plan_rollback(endpoint, [double, *versions], "2.4.0").impossible == ()
    assert plan_rollback(endpoint, [double], "2.4.0").impossible == ("version 2.4.0 can't serve: taken",)


def test_what_is_being_deleted_is_refused(endpoint, versions):
    by_version(versions, "2.4.0")["metadata"]["deletionTimestamp"] = "2026-11-30T10:30:00Z"
    assert plan_rollback(endpoint, versions, "2.4.0").impossible == ("version 2.4.0 is being deleted",)


def test_a_version_that_never_served_is_a_release(endpoint, versions):
    endpoint["spec"]["paused"] = True
    notes = plan_rollback(endpoint, versions, "2.4.2").notes
    assert "version 2.4.2 is warm (1 ready)" in notes
    assert (
        "version 2.4.2 was never stable here: it is released like a new one, by traffic.strategy ShadowThenCanary: shadow "
        "of 10 % (5m, 100 requests at least) -> 5 % (2m, 100 requests at least) -> 25 % (10m, 500 requests at least) -> "
        "50 % (10m, 100 requests at least, approval) -> 100 %"
    ) in notes
    assert "the endpoint is paused: nothing moves until kubectl iv resume news-sentiment" in notes


def test_nothing_to_do_only_where_the_pin_says_so_too(endpoint, versions):
    assert not plan_rollback(endpoint, versions, "2.4.1").nothing_to_do
    endpoint["spec"]["version"] = "2.4.1"
    assert plan_rollback(endpoint, versions, "2.4.1").nothing_to_do


def test_the_previous_version_is_the_newest_of_the_history_that_still_exists(endpoint, versions):
    assert previous_version(endpoint, versions) == "2.4.0"
    endpoint["status"]["history"].insert(0, {"version": "2.4.2", "outcome": "Promoted"})
    endpoint["status"]["stable"] = "2.4.2"
    assert previous_version(endpoint, versions) == "2.4.1"
    left = [version for version in versions if version["spec"]["version"] not in ("2.4.1", "2.4.0")]
    with pytest.raises(UserError, match=r"no earlier version to go back to.*2\.4\.2, 2\.3\.0"):
        previous_version(endpoint, left)


# ---- unpin ----


def test_without_a_pin_the_operators_rule_chooses(endpoint, versions):
    endpoint["spec"]["version"] = "2.4.0"
    assert wanted_without_pin(endpoint, versions) == "2.4.2"
    failed = by_version(versions, "2.4.2")
    set_condition(failed, "Failed", "True", "ReleaseFailed", "p95")
    assert wanted_without_pin(endpoint, versions) == "2.4.1"
    versions[0]["spec"] = {"endpoint": "news-sentiment", "version": "9.9.9"}
    assert wanted_without_pin(endpoint, versions) == "2.4.1"
    assert wanted_without_pin(endpoint, []) is None


# ---- who owns it ----


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        ({}, None),
        ({"labels": {"app.kubernetes.io/instance": "release"}}, None),
        ({"labels": {"app.kubernetes.io/instance": "release"}, "managedFields": [{"manager": "helm"}]}, None),
        ({"labels": {"app.kubernetes.io/instance": "news"}, "managedFields": [{"manager": "argocd-controller"}]}, "Argo CD (Application/news)"),
        ({"labels": {"argocd.argoproj.io/instance": "news"}}, "Argo CD (Application/news)"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "news:inferenceversion.io/InferenceEndpoint:news/x"}}, "Argo CD (Application/news)"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}, "Flux (Kustomization/flux-system/apps)"),
        ({"labels": {"helm.toolkit.fluxcd.io/name": "news", "helm.toolkit.fluxcd.io/namespace": "news"}}, "Flux (HelmRelease/news/news)"),
        ({"labels": None, "annotations": None, "managedFields": None}, None),
    ],
)  # fmt: skip
def test_what_git_owns(endpoint, metadata, owner):
    endpoint["metadata"] |= metadata
    found = find_owner(endpoint)
    assert (str(found) if found else None) == owner


def test_where_git_is_not_known_the_change_is_the_fields_to_set(endpoint):
    change = change_in_git(endpoint, {"version": "2.4.0"})
    assert not change.whole
    assert change.manifest == {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": "news-sentiment", "namespace": "news"},
        "spec": {"version": "2.4.0"},
    }


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
IN_GIT = {
    "apiVersion": "inferenceversion.io/v1alpha1",
    "kind": "InferenceEndpoint",
    "metadata": {
        "name": "news-sentiment",
        "namespace": "news",
        "labels": {"team": "news", "argocd.argoproj.io/instance": "news"},
        "annotations": {"argocd.argoproj.io/sync-wave": "1"},
    },
    "spec": {"version": "2.4.1", "gateway": {"hostnames": ["news.example.com"]}},
}


def test_what_was_applied_last_is_what_git_has(endpoint):
    endpoint["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(IN_GIT)}
    change = change_in_git(endpoint, {"version": "2.4.0"})
    assert change.whole
    assert change.manifest["spec"] == {"version": "2.4.0", "gateway": {"hostnames": ["news.example.com"]}}
    assert change.manifest["metadata"] == {
        "name": "news-sentiment",
        "namespace": "news",
        "labels": {"team": "news"},
        "annotations": {"argocd.argoproj.io/sync-wave": "1"},
    }
    assert "version" not in change_in_git(endpoint, {"version": None}).manifest["spec"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"spec": 1}'])
def test_an_annotation_that_says_nothing_is_passed_over(endpoint, text):
    endpoint["metadata"]["annotations"] = {LAST_APPLIED: text}
    assert not change_in_git(endpoint, {"version": "2.4.0"}).whole


def test_what_a_tool_applied_is_what_git_has(endpoint):
    endpoint["metadata"]["labels"] |= {"kustomize.toolkit.fluxcd.io/name": "apps", "team": "news"}
    endpoint["spec"] |= {"gateway": {"hostnames": ["a.example", "b.example"]}, "paused": True}
    fields = {
        "f:metadata": {"f:labels": {"f:team": {}, "f:kustomize.toolkit.fluxcd.io/name": {}}},
        "f:spec": {"f:retention": {"f:warm": {}}, "f:gateway": {"f:hostnames": {'v:"a.example"': {}}}},
    }
    entry = {"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields}
    status = {"manager": "argocd", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {}}}
    endpoint["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update"}, status, entry]
    change = change_in_git(endpoint, {"paused": False})
    assert change.whole
    assert change.manifest["metadata"]["labels"] == {"team": "news"}
    assert change.manifest["spec"] == {
        "retention": {"warm": 1},
        "gateway": {"hostnames": ["a.example", "b.example"]},
        "paused": False,
    }


# ---- what a pin or a pause holds back ----


def held(endpoint, versions):
    return {v.version: v.held for v in view_endpoint(endpoint, versions).versions if v.held}


def test_a_version_says_what_holds_it_back(endpoint, versions):
    assert held(endpoint, versions) == {}
    endpoint["spec"]["version"] = "2.4.0"
    assert held(endpoint, versions) == {
        "2.4.2": "held back: the endpoint is pinned to 2.4.0 (kubectl iv unpin news-sentiment)"
    }
    del endpoint["spec"]["version"]
    endpoint["spec"]["paused"] = True
    assert held(endpoint, versions) == {}  # its release is under way
    del endpoint["status"]["candidate"]
    assert held(endpoint, versions) == {"2.4.2": "held back: the endpoint is paused (kubectl iv resume news-sentiment)"}
    endpoint["spec"]["version"] = "2.4.0"  # a rollback goes through a pause
    assert list(held(endpoint, versions)) == ["2.4.2"]
    endpoint["spec"]["version"] = "9.9.9"
    assert list(held(endpoint, versions)) == ["2.4.2"]
