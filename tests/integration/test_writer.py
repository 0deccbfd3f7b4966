"""What the writer relies on, on a real API server: whose an object is, and that nothing is touched to find that out."""

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager

import kopf
import pytest

from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.client import ApiError, KubeClient
from inferenceversion_operator.adapters.kube.resources import BY_KIND
from inferenceversion_operator.adapters.kube.writer import Action, Writer
from inferenceversion_operator.outcome import Stalled

LABELS = {"app.kubernetes.io/managed-by": "inferenceversion-operator", "inferenceversion.io/endpoint": "e"}
SELECTED = {"matchLabels": {"app": "x"}}
POD = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
RULES = [{"backendRefs": [{"name": "s", "port": 80}]}]
KINDS = {
    "ConfigMap": ("v1", {"data": {"a": "b"}}),
    "Service": ("v1", {"spec": {"ports": [{"port": 80}]}}),
    "Deployment": ("apps/v1", {"spec": {"replicas": 1, "selector": SELECTED, "template": POD}}),
    "PodDisruptionBudget": ("policy/v1", {"spec": {"maxUnavailable": 1, "selector": SELECTED}}),
    "HTTPRoute": ("gateway.networking.k8s.io/v1", {"spec": {"rules": RULES}}),
}


def ours(kind, namespace, **meta):
    version, content = KINDS[kind]
    meta = {"name": "n", "namespace": namespace, "labels": LABELS, **meta}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **content}


def foreign(kind, namespace):
    """Return an object that differs from ours in no field that it has."""
    wanted = ours(kind, namespace)
    del wanted["metadata"]["labels"]
    return wanted


@asynccontextmanager
async def a_writer(plane):
    """A writer that knows of nothing, and its cache."""
    info = kopf.ConnectionInfo(server=plane.url, token=plane.token, insecure=True)
    async with KubeClient(info) as client:
        cache = Cache(lambda _key, _asked: None)
        yield Writer(client, cache), cache


def live(kubectl, kind):
    return json.loads(kubectl.run("get", kind, "n", "-o", "json", "--show-managed-fields"))


def managers(obj):
    return {
        (entry["manager"], entry["operation"])
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"] != "kube-controller-manager"
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_a_first_write_owns_its_fields_as_later_ones_do(kind, plane, kubectl):
    async with a_writer(plane) as (writer, _):
        more = ours(kind, kubectl.namespace, annotations={"more": "x"})
        assert await writer.apply(more) is Action.CREATED
        assert managers(live(kubectl, kind)) == {("inferenceversion-operator", "Apply")}
        assert await writer.apply(ours(kind, kubectl.namespace)) is Action.CONFIGURED
        assert "more" not in live(kubectl, kind)["metadata"]["annotations"]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_object_of_somebody_else_is_not_even_touched(kind, plane, kubectl):
    kubectl.apply(foreign(kind, kubectl.namespace))
    before = live(kubectl, kind)["metadata"]
    async with a_writer(plane) as (writer, _):
        with pytest.raises(Stalled) as refused:
            await writer.apply(ours(kind, kubectl.namespace))
    assert refused.value.reason == "NameTaken"
    after = live(kubectl, kind)["metadata"]
    assert {key: after.get(key) for key in ("uid", "labels", "annotations", "ownerReferences", "generation")} == {
        key: before.get(key) for key in ("uid", "labels", "annotations", "ownerReferences", "generation")
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_what_took_the_place_of_ours_a_moment_ago_is_left_alone(kind, plane, kubectl):
    async with a_writer(plane) as (writer, _):
        await writer.apply(ours(kind, kubectl.namespace))
        kubectl.delete(kind, "n", wait=True)
        changed = ours(kind, kubectl.namespace, annotations={"more": "x"})
        with pytest.raises(ApiError) as gone:
            await writer.apply(changed)
        kubectl.apply(foreign(kind, kubectl.namespace))
        with pytest.raises(ApiError) as another:
            await writer.apply(changed)
    assert (gone.value.status, another.value.status) == (409, 409)
    assert "labels" not in live(kubectl, kind)["metadata"]


async def test_however_many_watches_are_open_requests_get_through(plane, kubectl):
    path = BY_KIND["ConfigMap"].path(kubectl.namespace)
    info = kopf.ConnectionInfo(server=plane.url, token=plane.token, insecure=True)
    async with KubeClient(info) as client, AsyncExitStack() as streams, asyncio.timeout(30):
        for _ in range(100):
            await streams.enter_async_context(client.stream(path, {"watch": "true", "timeoutSeconds": "600"}, 600.0))
        assert (await client.request("GET", path))["kind"] == "ConfigMapList"


async def test_an_object_of_ours_that_the_watch_does_not_know_is_made_as_wanted(plane, kubectl):
    async with a_writer(plane) as (writer, _):
        await writer.apply(ours("Service", kubectl.namespace))
    async with a_writer(plane) as (writer, cache):
        await writer.apply(ours("Service", kubectl.namespace, annotations={"more": "x"}))
        assert cache.get("Service", kubectl.namespace, "n")["metadata"]["annotations"]["more"] == "x"
        assert writer.writes["PATCH", "Service"] == 2
