"""A name that Kubernetes allows is a name that works; the order in which things are applied does not matter."""

import re

import pytest

from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.load import ask
from tests.support.wait import wait_until

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LONG = "long." + "x" * 240 + ".version"  # 253 characters
# name of the version -> its endpoint
NAMES = {"a.b-c": "dots", "a-b.c": "dashes", LONG: "long", "2024.model-1": "9-lives"}


@pytest.fixture(scope="module")
def named(ns: Namespace, image: str) -> Namespace:
    assert len(LONG) == 253
    ns.apply(*(sentiment("1.0.0", image, name=name, endpoint=endpoint) for name, endpoint in NAMES.items()))
    return ns


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:20])
def test_each_name_gets_valid_children_that_serve(named, name):
    endpoint = NAMES[name]
    named.wait_stable("1.0.0", endpoint, within=180)
    wait_until("waiting until it answers", lambda: ask(named.target(endpoint)).status == 200, within=30)
    digest = named.seen("iv", name)["status"]["snapshotDigest"]
    assert ask(named.target(endpoint)).digest == digest
    children = named.children(name)
    assert sorted(child.partition("/")[0] for child in children) == ["configmap", "deployment", "pdb", "service"]
    for child in children:
        assert LABEL.fullmatch(child.partition("/")[2]), child


def test_no_two_versions_share_a_child(named):
    owners = [owner["uid"] for _, obj in named.owned() for owner in obj["metadata"]["ownerReferences"]]
    names = [f"{kind}/{obj['metadata']['name']}" for kind, obj in named.owned()]
    assert len(names) == len(set(names))
    assert len(set(owners)) == 2 * len(NAMES)  # the versions, and their endpoints


def test_every_reference_uses_the_same_derived_name(named):
    for name in NAMES:
        derived = named.seen("iv", name)["status"]["name"]
        deployment = named.seen("deployment", derived)
        service = named.seen("service", derived)
        assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
        assert deployment["spec"]["template"]["metadata"]["labels"]["inferenceversion.io/name"] == derived
