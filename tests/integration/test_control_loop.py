"""The control loop on a real API server: objects, writes, drift, refusals. Pods are the e2e tests' business."""

import copy
import json
import time

import pytest
import yaml

from dev.paths import ROOT
from inferenceversion_operator.api.names import version_name
from tests.support.kubectl import KubectlFailed
from tests.support.wait import NotYet, holds_for, wait_until

EXAMPLE = yaml.safe_load((ROOT / "examples" / "inferenceversion.yaml").read_text())
CHILDREN = ("configmap", "deployment", "service", "poddisruptionbudget")


def version(number="2.4.0", name=None, endpoint="news-sentiment"):
    made = copy.deepcopy(EXAMPLE)
    made["metadata"] = {"name": name or f"{endpoint}-{number}"}
    made["spec"] |= {"endpoint": endpoint, "version": number}
    return made


def get(kubectl, kind, name=None):
    try:
        return json.loads(kubectl.run("get", kind, *([name] if name else []), "-o", "json"))
    except KubectlFailed as error:
        raise NotYet(str(error)) from error


def children(kubectl):
    selector = "app.kubernetes.io/managed-by=inferenceversion-operator"
    listed = json.loads(kubectl.run("get", ",".join(CHILDREN), "-l", selector, "-o", "json"))
    return {(o["kind"], o["metadata"]["name"]): o for o in listed["items"]}


def condition(kubectl, kind, name, wanted, status=None):
    """Return a condition once it is there (with this status); what is there instead is the last state seen."""
    found = get(kubectl, kind, name).get("status", {}).get("conditions", [])
    for one in found:
        if one["type"] == wanted and status in (None, one["status"]):
            return one
    raise NotYet(json.dumps(found))


def has_children(kubectl, count=4):
    def probe():
        found = children(kubectl)
        if len(found) != count:
            raise NotYet(sorted(found))
        return found

    return wait_until(f"{count} children exist", probe, within=15)


def rest(kubectl):
    """Wait until the operator has told of the latest generation and return every object's resource version."""

    def versions():
        objects = [*children(kubectl).values(), *get(kubectl, "iv,iep")["items"]]
        return {(o["kind"], o["metadata"]["name"]): o["metadata"]["resourceVersion"] for o in objects}

    def quiet():
        before = versions()
        time.sleep(1.0)
        if versions() != before:
            raise NotYet("still being written")
        return before

    return wait_until("everything is at rest", quiet, within=30)


@pytest.fixture
def released(operator, kubectl):
    """A namespace with one version whose children exist."""
    kubectl.apply(version())
    has_children(kubectl)
    return kubectl


def test_a_version_gets_its_children_and_an_endpoint(released):
    name = version_name("news-sentiment-2.4.0")
    found = children(released)
    assert {key for key in found if key[0] != "ConfigMap"} == {
        ("Deployment", name),
        ("Service", name),
        ("PodDisruptionBudget", name),
    }
    condition_of = ("iep", "news-sentiment", "Reconciling", "True")
    wait_until("the endpoint says what it waits for", lambda: condition(released, *condition_of), within=5)
    assert all("app.kubernetes.io/instance" not in o["metadata"]["labels"] for o in found.values())


def test_the_digest_in_the_status_is_that_of_the_offline_code(released):
    from inferenceversion_operator.api.digest import snapshot_digest

    status = wait_until("the status is there", lambda: get(released, "iv", "news-sentiment-2.4.0")["status"], within=5)
    assert status["snapshotDigest"] == snapshot_digest(EXAMPLE["spec"])


def test_nothing_is_written_when_nothing_changed(operator, released, plane):
    before = rest(released)
    began = len(plane.writes())
    operator.kill()
    operator.start()
    released.run("annotate", "iv", "news-sentiment-2.4.0", "note=look-again")
    key = ("InferenceVersion", "news-sentiment-2.4.0")
    after = wait_until("the note is there", lambda: rest(released), within=20)
    assert {k: v for k, v in after.items() if k != key} == {k: v for k, v in before.items() if k != key}
    assert [w for w in plane.writes()[began:] if w.namespace == released.namespace] == []


def test_a_first_apply_takes_few_writes(operator, kubectl, plane):
    began = len(plane.writes())
    kubectl.apply(version())
    rest(kubectl)
    mine = [w for w in plane.writes()[began:] if w.namespace == kubectl.namespace]
    created = [w for w in mine if not w.subresource]
    statuses = [w for w in mine if w.subresource == "status"]
    assert len(created) == 5, mine  # four children and the endpoint
    assert len(statuses) <= 3, mine  # the version tells of its pod once it is there, the endpoint once in all
    assert all(w.code < 300 for w in mine), mine


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_deleted_child_is_back_within_five_seconds(released, kind):
    name = next(name for k, name in children(released) if k.lower() == kind)
    old = get(released, kind, name)["metadata"]["uid"]
    released.run("delete", kind, name, "--wait=false")

    def back():
        found = get(released, kind, name)
        if found["metadata"]["uid"] == old:
            raise NotYet("the old one is still there")
        return True

    wait_until(f"the {kind} is back", back, within=5)


@pytest.mark.parametrize(
    ("kind", "patch", "path", "value"),
    [
        ("service", {"spec": {"selector": {"inferenceversion.io/name": "x"}}}, ("spec", "selector"), None),
        ("deployment", {"spec": {"replicas": 7}}, ("spec", "replicas"), 1),
        ("deployment", {"metadata": {"labels": {"inferenceversion.io/version": "9"}}}, ("metadata", "labels"), None),
        ("poddisruptionbudget", {"spec": {"maxUnavailable": 5}}, ("spec", "maxUnavailable"), 1),
    ],
)
def test_a_hand_edit_of_what_is_ours_is_put_right(released, kind, patch, path, value):
    name = version_name("news-sentiment-2.4.0")

    def read():
        found = get(released, kind, name)
        for step in path:
            found = found[step]
        return found

    wanted = read() if value is None else value
    released.run("patch", kind, name, "--type=merge", "-p", json.dumps(patch))

    def right():
        if read() != wanted:
            raise NotYet(read())
        return True

    wait_until("it is as wanted again", right, within=5)


def test_a_field_that_is_not_ours_is_left_alone(released):
    name = version_name("news-sentiment-2.4.0")
    released.run("annotate", "deployment", name, "team=news")
    released.run("label", "service", name, "cost-center=7")
    rest(released)
    assert get(released, "deployment", name)["metadata"]["annotations"]["team"] == "news"
    assert get(released, "service", name)["metadata"]["labels"]["cost-center"] == "7"


def test_killed_in_the_middle_the_operator_finishes_after_its_restart(operator, kubectl):
    for number in range(3):
        kubectl.apply(version(endpoint=f"e{number}"))
    operator.kill()
    operator.start()
    has_children(kubectl, 12)
    kubectl.run("patch", "iep", "e1", "--type=merge", "-p", '{"spec": {"version": "9.9.9"}}')
    told = wait_until("it is told", lambda: condition(kubectl, "iep", "e1", "Stalled"), within=5)
    assert told["reason"] == "VersionNotFound"


def test_an_object_of_somebody_else_keeps_its_owner_and_is_named(operator, kubectl):
    name = version_name("news-sentiment-2.4.0")
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "theirs"}, "ports": [{"port": 80}]},
    }
    kubectl.apply(foreign)
    kubectl.apply(version())
    told = wait_until("it is told", lambda: condition(kubectl, "iep", "news-sentiment", "Stalled"), within=10)
    assert told["reason"] == "NameTaken"
    assert name in told["message"]
    assert get(kubectl, "service", name)["spec"]["selector"] == {"app": "theirs"}
    kubectl.run("delete", "service", name)
    wait_until(
        "it goes on once the name is free",
        lambda: get(kubectl, "service", name)["metadata"]["labels"]["inferenceversion.io/endpoint"],
        within=30,
    )


def test_a_refusal_of_the_api_server_is_told_and_passes(operator, kubectl):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"count/deployments.apps": "0"}},
    }
    kubectl.apply(quota)
    wait_until(
        "the quota counts", lambda: get(kubectl, "resourcequota", "none").get("status", {}).get("hard"), within=20
    )
    kubectl.apply(version())
    told = wait_until(
        "the version says so", lambda: condition(kubectl, "iv", "news-sentiment-2.4.0", "Stalled"), within=10
    )
    assert "exceeded quota" in told["message"]
    kubectl.run("delete", "resourcequota", "none")
    has_children(kubectl, 4)


def test_of_two_objects_with_one_version_the_second_is_told(released):
    released.apply(version(name="copy"))
    told = wait_until("it is told", lambda: condition(released, "iv", "copy", "Accepted", "False"), within=10)
    assert told["reason"] == "DuplicateVersion"
    assert len(children(released)) == 4


def test_of_a_candidate_that_a_newer_one_replaced_nothing_is_left(released):
    released.apply(version("2.4.1"))
    named = version_name("news-sentiment-2.4.1")

    def replaced():
        found = sorted(children(released))
        if len(found) != 4 or not all(name.startswith(named) for _, name in found):
            raise NotYet(found)
        return True

    wait_until("the children of the newer one are all there are", replaced, within=30)


NAMES = ["a.b-c", "a-b.c", "9", "9.9", "x" * 253, "x" * 63, "a" + ".a" * 60]


def test_every_name_that_an_object_may_have_gets_children_of_its_own(operator, kubectl):
    for number, name in enumerate(NAMES):
        kubectl.apply(version(name=name, endpoint=f"e{number}"))
    found = has_children(kubectl, 4 * len(NAMES))
    services = {name for kind, name in found if kind == "Service"}
    assert services == {version_name(name) for name in NAMES}
    for (kind, name), obj in found.items():
        assert obj["metadata"]["labels"]["inferenceversion.io/name"] in services
        if kind == "Deployment":
            assert obj["spec"]["selector"]["matchLabels"]["inferenceversion.io/name"] == name


def test_the_order_of_things_does_not_matter(operator, kubectl):
    pinned = {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": "news-sentiment"},
        "spec": {"version": "2.4.0"},
    }
    kubectl.apply(pinned)
    told = wait_until(
        "the missing version is named", lambda: condition(kubectl, "iep", "news-sentiment", "Stalled"), within=10
    )
    assert "2.4.0" in told["message"]
    kubectl.apply(version("2.4.1"))
    rest(kubectl)
    assert children(kubectl) == {}
    kubectl.apply(version("2.4.0"))
    found = has_children(kubectl)
    assert ("Deployment", version_name("news-sentiment-2.4.0")) in found


def test_deleting_the_only_version_leaves_nothing_behind(released):
    released.run("delete", "iv", "news-sentiment-2.4.0")

    def gone():
        left = sorted(children(released))
        left += [o["metadata"]["name"] for o in get(released, "iep")["items"]]
        if left:
            raise NotYet(left)
        return True

    wait_until("nothing is left", gone, within=20)
    holds_for("nothing comes back", gone, seconds=2)


def test_a_namespace_that_is_deleted_goes_and_the_operator_does_not_fight_it(released, plane):
    released.run("delete", "namespace", released.namespace, "--wait=true", timeout=60)
    refused = [w for w in plane.writes() if w.namespace == released.namespace and w.code >= 400]
    assert len(refused) <= 20, refused
