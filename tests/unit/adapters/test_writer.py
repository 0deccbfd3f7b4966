import json

import pytest
import yaml

from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.client import ApiError, encode
from inferenceversion_operator.adapters.kube.writer import Action, Writer, holds
from inferenceversion_operator.outcome import Stalled


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": {"x": 1, "defaulted": True}}, {"a": {"x": 1}}, True),
        ({"a": [1, 2]}, {"a": [1, 2]}, True),
        ({"a": [1, 2, 3]}, {"a": [1, 2]}, False),
        ({"a": [{"name": "c", "defaulted": 1}]}, {"a": [{"name": "c"}]}, True),
        ({"a": None}, {"a": {}}, False),
        ({"a": 1}, {"a": True}, True),  # JSON of the API server never mixes the two for one field
        ({}, {}, True),
    ],
)
def test_holds(live, wanted, expected):
    assert holds(live, wanted) is expected


class Server:
    """Stands in for the client at the one method that the writer calls; what is sent is what the tests look at."""

    def __init__(self):
        self.sent = []
        self.refuse = None
        self.there = []
        self.kept = {}
        self.status_of = {}
        self.version = 1

    async def request(self, verb, path, *, params=None, body=None, content_type=None):
        if verb == "GET":
            return {"items": self.there}
        self.sent.append((verb, path, dict(params or {})))
        if self.refuse:
            raise self.refuse
        if self.there and isinstance(body, dict) and body["metadata"].get("resourceVersion") == "1":
            raise ApiError(409, "Conflict", "the object has been modified")
        self.version += 1
        if isinstance(body, list):
            return {**self.status_of, "status": body[0]["value"]}
        meta = {**body["metadata"], "resourceVersion": str(self.version), "uid": "u", "generation": 1}
        kept = {"status": {**body["status"], **self.kept}} if "status" in body else {}
        return {**body, "metadata": meta, **kept}


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def cache():
    return Cache(lambda _key, _kind: None)


@pytest.fixture
def writer(server, cache):
    return Writer(server, cache)


OURS = {"app.kubernetes.io/managed-by": "inferenceversion-operator"}


def service(port=80):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "ns", "name": "s", "labels": {"inferenceversion.io/endpoint": "e", **OURS}},
        "spec": {"ports": [{"port": port}]},
    }


def foreign():
    labels = {"inferenceversion.io/endpoint": "e"}
    return {**service(), "metadata": {"namespace": "ns", "name": "s", "uid": "foreign", "labels": labels}}


async def test_the_second_apply_of_the_same_object_sends_nothing(writer, server):
    assert await writer.apply(service()) is Action.CREATED
    assert await writer.apply(service()) is Action.UNCHANGED
    assert len(server.sent) == 1


async def test_the_first_apply_takes_nothing_over_and_later_ones_do(writer, server):
    await writer.apply(service())
    await writer.apply(service(81))
    assert [params["force"] for _, _, params in server.sent] == ["false", "true"]


async def test_drift_is_put_right(writer, server, cache):
    await writer.apply(service())
    live = dict(cache.get("Service", "ns", "s"))
    meta = {**live["metadata"], "resourceVersion": "99", "generation": 2}
    cache.put({**live, "metadata": meta, "spec": {"ports": [{"port": 9}]}})
    assert await writer.apply(service()) is Action.CONFIGURED


async def test_a_field_that_is_no_longer_wanted_is_taken_away(writer, server):
    more = service()
    more["spec"]["externalName"] = "x"
    await writer.apply(more)
    assert await writer.apply(service()) is Action.CONFIGURED


async def test_a_value_that_the_server_writes_differently_is_not_sent_again(writer, server, cache):
    await writer.apply(service())
    live = dict(cache.get("Service", "ns", "s"))
    cache.put({**live, "metadata": {**live["metadata"], "resourceVersion": "99"}, "spec": {"ports": [{"port": "80"}]}})
    assert await writer.apply(service()) is Action.UNCHANGED


async def test_an_object_of_somebody_else_is_not_taken_over(writer, server):
    server.there = [foreign()]
    with pytest.raises(Stalled, match="exists and is not ours") as caught:
        await writer.apply(service())
    assert caught.value.reason == "NameTaken"


async def test_a_first_write_asks_nothing_before_and_makes_an_object_only_where_none_is(writer, server):
    bodies = []
    send = server.request

    async def request(verb, path, **request):
        bodies.append((verb, request["body"]["metadata"].get("resourceVersion")))
        return await send(verb, path, **request)

    server.request = request
    await writer.apply(service())
    await writer.apply(service(81))
    assert bodies == [("PATCH", "1"), ("PATCH", None)]


async def test_a_change_is_of_the_object_that_was_seen_and_of_no_other_of_its_name(writer, server):
    bodies = []
    send = server.request

    async def request(verb, path, **request):
        bodies.append(request["body"]["metadata"].get("uid"))
        return await send(verb, path, **request)

    server.request = request
    await writer.apply(service())
    await writer.apply(service(81))
    assert bodies == [None, "u"]
    server.refuse = ApiError(422, "Invalid", 'Service "s" is invalid: metadata.uid: Invalid value: field is immutable')
    with pytest.raises(ApiError, match="Conflict"):
        await writer.apply(service(82))


async def test_what_had_the_name_and_is_gone_again_is_tried_later(writer, server):
    server.refuse = ApiError(409, "Conflict", "the object has been modified")
    with pytest.raises(ApiError, match="a moment ago"):
        await writer.apply(service())


async def test_who_does_not_lead_sends_nothing(server, cache):
    with pytest.raises(ApiError, match="NotLeader"):
        await Writer(server, cache, may_write=lambda: False).apply(service())
    assert server.sent == []


async def test_a_status_is_written_when_it_differs_in_anything(writer, server, cache):
    live = {"kind": "InferenceVersion", "metadata": {"namespace": "n", "name": "v", "resourceVersion": "1"}, "spec": {}}
    cache.put({**live, "status": {"role": "Stable", "weight": 100}})
    assert (
        await writer.apply_status("InferenceVersion", "n", "v", {"role": "Stable", "weight": 100}) is Action.UNCHANGED
    )
    assert await writer.apply_status("InferenceVersion", "n", "v", {"role": "Stable"}) is Action.CONFIGURED
    assert server.sent[0][1].endswith("/inferenceversions/v/status")


async def test_deleting_what_is_gone_is_no_error(writer, server):
    server.refuse = ApiError(404, "NotFound", "gone")
    assert await writer.delete("Service", "ns", "s", "uid") is Action.UNCHANGED


async def test_a_label_that_was_edited_by_hand_is_put_right_though_the_generation_stays(writer, cache):
    await writer.apply(service())
    live = dict(cache.get("Service", "ns", "s"))
    labels = {"inferenceversion.io/endpoint": "mine", **OURS}
    cache.put({**live, "metadata": {**live["metadata"], "resourceVersion": "99", "labels": labels}})
    assert await writer.apply(service()) is Action.CONFIGURED


def owned(obj, uid, name="v", kind="InferenceVersion"):
    owner = {"apiVersion": "inferenceversion.io/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": True}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}


def stored(obj):
    return {**obj, "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "1"}}


def living(uid, name="v"):
    meta = {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": "1"}
    return {"kind": "InferenceVersion", "metadata": meta, "spec": {"endpoint": "other"}}


async def test_what_the_watch_does_not_know_is_looked_up_and_left_alone_though_no_field_differs(writer, server):
    server.there = [foreign()]
    with pytest.raises(Stalled, match="exists and is not ours"):
        await writer.apply(service())
    assert [params["force"] for _, _, params in server.sent] == ["false"]


@pytest.mark.parametrize("there", [owned(foreign(), "mine"), stored(service())])
async def test_an_object_of_ours_that_lost_its_label_or_its_owner_is_put_right(writer, server, there):
    server.there = [there]
    await writer.apply(owned(service(), "mine"))
    assert [params["force"] for _, _, params in server.sent] == ["false", "true"]


async def test_the_child_of_another_living_owner_is_not_taken_from_it(writer, server, cache):
    cache.put(stored(owned(service(), "theirs", "other")))
    cache.put(living("theirs", "other"))
    with pytest.raises(Stalled, match="exists and is not ours"):
        await writer.apply(owned(service(), "mine"))
    assert server.sent == []


@pytest.mark.parametrize("owner_now", [None, living("younger", "other")])
async def test_the_child_of_an_owner_that_is_gone_is_taken_over(writer, server, cache, owner_now):
    cache.put(stored(owned(service(), "theirs", "other")))
    if owner_now:
        cache.put(owner_now)
    assert await writer.apply(owned(service(), "mine")) is Action.CONFIGURED


async def test_an_endpoint_that_was_declared_meanwhile_stays_its_makers(writer, server):
    server.there = [{"metadata": {"namespace": "ns", "name": "e"}, "spec": {}}]
    endpoint = {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"namespace": "ns", "name": "e", "labels": {"app.kubernetes.io/managed-by": "x"}},
        "spec": {},
    }
    assert await writer.apply(endpoint) is Action.UNCHANGED
    assert [params["force"] for _, _, params in server.sent] == ["false"]


async def test_an_owner_that_somebody_added_is_no_drift(writer, server, cache):
    wanted = owned(service(), "mine")
    await writer.apply(wanted)
    live = dict(cache.get("Service", "ns", "s"))
    more = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"}, *live["metadata"]["ownerReferences"]]
    cache.put({**live, "metadata": {**live["metadata"], "resourceVersion": "99", "ownerReferences": more}})
    assert await writer.apply(wanted) is Action.UNCHANGED


async def test_what_somebody_wrote_into_a_status_is_taken_out(writer, server, cache):
    live = {"kind": "InferenceVersion", "metadata": {"namespace": "n", "name": "v", "resourceVersion": "1"}, "spec": {}}
    cache.put({**live, "status": {"role": "Stable", "weight": 7}})
    server.status_of = {**live, "metadata": {**live["metadata"], "resourceVersion": "3"}}
    server.kept = {"weight": 7}
    await writer.apply_status("InferenceVersion", "n", "v", {"role": "Stable"})
    assert cache.get("InferenceVersion", "n", "v")["status"] == {"role": "Stable"}
    assert len(server.sent) == 2


@pytest.mark.parametrize(
    "text", ["caf\u00e9", "\U0001f600", "a\u2028b\u2029c\u0085d\ufeffe\uffff", "\x00\x1b\x7f\x9f", '\\"\n\t']
)
def test_what_is_sent_is_the_same_as_json_and_as_yaml(text):
    sent = encode({"text": text})
    assert json.loads(sent) == {"text": text}
    assert yaml.safe_load(sent) == {"text": text}


def test_half_a_surrogate_pair_is_sent_as_the_replacement_character():
    assert json.loads(encode({"text": "a\ud83d"})) == {"text": "a\ufffd"}
