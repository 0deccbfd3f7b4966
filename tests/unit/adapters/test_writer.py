import pytest

from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.client import ApiError
from inferenceversion_operator.adapters.kube.writer import Action, Writer, holds


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
        self.version = 1

    async def request(self, verb, path, *, params=None, body=None, content_type=None):
        self.sent.append((verb, path, dict(params or {})))
        if self.refuse:
            raise self.refuse
        self.version += 1
        meta = {**body["metadata"], "resourceVersion": str(self.version), "uid": "u", "generation": 1}
        return {**body, "metadata": meta}


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def cache():
    return Cache(lambda _key, _kind: None)


@pytest.fixture
def writer(server, cache):
    return Writer(server, cache)


def service(port=80):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "ns", "name": "s", "labels": {"inferenceversion.io/endpoint": "e"}},
        "spec": {"ports": [{"port": port}]},
    }


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
    server.refuse = ApiError(409, "Conflict", 'conflict with "kubectl"')
    with pytest.raises(Exception, match="exists and is not ours") as caught:
        await writer.apply(service())
    assert caught.value.reason == "NameTaken"


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
    labels = {"inferenceversion.io/endpoint": "mine"}
    cache.put({**live, "metadata": {**live["metadata"], "resourceVersion": "99", "labels": labels}})
    assert await writer.apply(service()) is Action.CONFIGURED
