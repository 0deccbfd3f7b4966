"""What the operator made stays as it made it; what is right is left alone."""

import time

import pytest

from tests.support.cluster_api import CHILD_KINDS
from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace, Object
from tests.support.wait import NotYet, holds_for, wait_until

VERSION = "news-1.0.0"


@pytest.fixture(scope="module")
def served(ns: Namespace, image: str) -> Namespace:
    ns.apply(sentiment("1.0.0", image))
    ns.wait_stable("1.0.0")
    return ns


def child(ns: Namespace, kind: str) -> Object:
    return next(obj for found, obj in ns.owned() if found == kind)


@pytest.mark.parametrize("kind", CHILD_KINDS)
def test_a_deleted_child_is_back_within_five_seconds(served, kind):
    lost = child(served, kind)
    name, uid = lost["metadata"]["name"], lost["metadata"]["uid"]
    began = time.monotonic()
    # The pods are left alone: this is about the object.
    served.kubectl.run("delete", kind, name, "--cascade=orphan", "--wait=false")

    def back() -> bool:
        found = served.get(kind, name)
        return found is not None and found["metadata"]["uid"] != uid and not found["metadata"].get("deletionTimestamp")

    wait_until(f"waiting until {kind} {name} is back", back, within=5, every=0.05)
    print(f"{kind}: back after {time.monotonic() - began:.2f} s")


@pytest.mark.parametrize(
    ("kind", "patch", "path"),
    [
        (
            "deployment",
            {"spec": {"template": {"spec": {"automountServiceAccountToken": True}}}},
            "spec.template.spec.automountServiceAccountToken",
        ),
        ("deployment", {"spec": {"replicas": 0}}, "spec.replicas"),
        ("service", {"spec": {"selector": {"inferenceversion.io/name": "nobody"}}}, "spec.selector"),
        ("httproute", {"spec": {"hostnames": ["stolen.example.com"]}}, "spec.hostnames"),
        ("pdb", {"metadata": {"labels": {"inferenceversion.io/endpoint": "other"}}}, "metadata.labels"),
    ],
)
def test_a_hand_edit_of_what_the_operator_owns_is_put_right(served, kind, patch, path):
    before = child(served, kind)
    served.kubectl.patch(kind, before["metadata"]["name"], patch)

    def right() -> bool:
        now = served.seen(kind, before["metadata"]["name"])
        if at(now, path) != at(before, path):
            raise NotYet(f"{path} is {at(now, path)}, not {at(before, path)}")
        return True

    wait_until(f"waiting until {path} is put right", right, within=5, every=0.1)


def at(obj: Object, path: str) -> object:
    value: object = obj
    for key in path.split("."):
        value = value[key]
    return value


def test_an_edit_of_what_the_operator_does_not_own_stays(served):
    name = child(served, "deployment")["metadata"]["name"]
    served.kubectl.run("annotate", "deployment", name, "example.com/team=news")
    holds_for(
        "the annotation of somebody else stays",
        lambda: served.seen("deployment", name)["metadata"]["annotations"].get("example.com/team") == "news",
        seconds=3,
    )


def test_nothing_is_written_while_nothing_changes(served):
    served.wait_stable("1.0.0")

    def quiet() -> bool:
        before = written(served)
        time.sleep(2)  # the span that is looked at
        return before == written(served)

    wait_until("waiting until what the tests before left has settled", quiet, within=60)
    before = written(served)

    def unchanged() -> bool:
        now = written(served)
        if changed := {
            name: (before.get(name), now.get(name)) for name in before | now if before.get(name) != now.get(name)
        }:
            raise NotYet(changed)
        return True

    holds_for("the operator writes nothing", unchanged, seconds=15, every=3)


def written(ns: Namespace) -> dict[str, object]:
    """Return what a write of the operator changes: all of our own objects, and what it owns of the children.

    Other controllers write the status of children (the Gateway, the disruption controller) when they like.
    """
    ours = {
        f"{kind}/{o['metadata']['name']}": o["metadata"]["resourceVersion"]
        for kind in ("iv", "iep")
        for o in ns.all_of(kind)
    }
    return ours | {f"{kind}/{obj['metadata']['name']}": _writes(obj) for kind, obj in ns.owned()}


def _writes(obj: Object) -> object:
    fields = [entry for entry in obj["metadata"]["managedFields"] if entry["manager"] == "inferenceversion-operator"]
    return obj["metadata"]["uid"], obj["metadata"].get("generation"), [entry.get("time") for entry in fields]
