import pytest

from inferenceversion_operator.adapters.kube.cache import Cache, endpoint_key


def obj(kind, name, version="1", uid="u1", endpoint="news", namespace="ns"):
    meta = {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": version}
    if kind == "InferenceVersion":
        return {"kind": kind, "metadata": meta, "spec": {"endpoint": endpoint}}
    if kind != "InferenceEndpoint":
        meta["labels"] = {"inferenceversion.io/endpoint": endpoint}
    return {"kind": kind, "metadata": meta}


def filled(*objects):
    changed = []
    cache = Cache(lambda key, _kind: changed.append(key))
    for one in objects:
        cache.put(one)
    return cache, changed


def asked(change):
    """Return what the cache says of a change: whether somebody asked for it."""
    told = []
    cache = Cache(lambda _key, asked: told.append(asked))
    version = obj("InferenceVersion", "v", version="1")
    cache.put(version)
    cache.put(obj("Deployment", "d", version="1"))
    told.clear()
    change(cache, version)
    return told


def edited(cache, version, **meta):
    cache.put({**version, "metadata": {**version["metadata"], "resourceVersion": "2", **meta}})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda cache, version: edited(cache, version, generation=2), [True]),
        (lambda cache, version: edited(cache, version, annotations={"inferenceversion.io/action": "abort"}), [True]),
        (lambda cache, version: edited(cache, version, labels={"team": "news"}), [True]),
        (lambda cache, version: edited(cache, version, deletionTimestamp="2026-11-30T00:00:00Z"), [True]),
        (lambda cache, version: edited(cache, version, uid="u2"), [True]),
        (lambda cache, version: cache.remove(version), [True]),
        (lambda cache, _version: cache.put(obj("InferenceEndpoint", "news", version="9")), [True]),
        (lambda cache, version: edited(cache, {**version, "status": {"role": "Stable"}}), [False]),
        (lambda cache, _version: cache.put(obj("Deployment", "d", version="2")), [False]),
        (lambda cache, _version: cache.remove(obj("Deployment", "d", version="2")), [False]),
    ],
)
def test_an_edit_of_a_declared_object_was_asked_for_and_its_status_was_not(change, expected):
    assert asked(change) == expected


def listed(cache, kind, *objects, as_of="9", namespace=None):
    """Give the cache a list, as a watch does."""
    for one in objects:
        cache.put(one)
    names = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in objects}
    cache.keep(kind, names, as_of, namespace)


def test_an_endpoint_its_versions_and_their_children_share_a_key():
    for one in (obj("InferenceEndpoint", "news"), obj("InferenceVersion", "news-1"), obj("Deployment", "news-1-abc")):
        assert endpoint_key(one) == ("ns", "news")


def test_an_object_of_nobody_has_no_key():
    assert endpoint_key({"kind": "Pod", "metadata": {"namespace": "ns", "name": "x", "labels": None}}) is None


def test_an_older_view_does_not_replace_a_newer_one():
    cache, changed = filled(obj("Deployment", "d", version="10"))
    cache.put(obj("Deployment", "d", version="9"))
    assert cache.get("Deployment", "ns", "d")["metadata"]["resourceVersion"] == "10"
    assert changed == [("ns", "news")]


def test_a_recreated_object_replaces_the_old_one_whatever_its_version():
    cache, _ = filled(obj("Deployment", "d", version="10", uid="old"))
    cache.put(obj("Deployment", "d", version="9", uid="new"))
    assert cache.get("Deployment", "ns", "d")["metadata"]["uid"] == "new"


def test_a_late_deletion_of_the_predecessor_leaves_the_new_object():
    cache, _ = filled(obj("Deployment", "d", uid="new"))
    cache.remove(obj("Deployment", "d", uid="old"))
    assert cache.get("Deployment", "ns", "d") is not None


def test_a_list_removes_what_was_deleted_unwatched():
    cache, changed = filled(obj("Deployment", "d"), obj("Deployment", "e"), obj("Service", "d"))
    changed.clear()
    listed(cache, "Deployment", obj("Deployment", "e"))
    assert {o["kind"] for o in cache.of_endpoint(("ns", "news"))} == {"Deployment", "Service"}
    assert cache.get("Deployment", "ns", "d") is None
    assert changed == [("ns", "news")]


def test_a_list_of_one_namespace_leaves_the_others():
    cache, _ = filled(obj("Deployment", "d"), obj("Deployment", "d", namespace="other"))
    listed(cache, "Deployment", namespace="ns")
    assert cache.get("Deployment", "other", "d") is not None


def test_an_object_that_moves_to_another_endpoint_leaves_the_first():
    cache, changed = filled(obj("Deployment", "d", version="1"))
    cache.put(obj("Deployment", "d", version="2", endpoint="other"))
    assert cache.of_endpoint(("ns", "news")) == ()
    assert len(cache.of_endpoint(("ns", "other"))) == 1
    assert changed[-1] == ("ns", "other")


def test_the_last_object_takes_the_key_along():
    cache, _ = filled(obj("Deployment", "d"))
    cache.remove(obj("Deployment", "d"))
    assert cache.endpoints() == ()


def test_an_object_whose_label_was_edited_is_news_to_both_endpoints():
    cache, changed = filled(obj("Service", "s", endpoint="news"))
    cache.put(obj("Service", "s", version="2", endpoint="sports"))
    assert changed == [("ns", "news"), ("ns", "news"), ("ns", "sports")]
    assert cache.of_endpoint(("ns", "news")) == ()


def test_what_was_made_while_a_list_was_on_its_way_is_not_taken_as_deleted():
    cache, _ = filled(obj("InferenceVersion", "old", version="5"), obj("InferenceVersion", "new", version="8"))
    listed(cache, "InferenceVersion", as_of="7")
    assert cache.get("InferenceVersion", "ns", "old") is None
    assert cache.get("InferenceVersion", "ns", "new") is not None


def test_what_was_deleted_is_not_brought_back_by_a_list_that_was_on_its_way():
    version = obj("InferenceVersion", "v", version="5", uid="gone")
    cache, _ = filled(version)
    cache.remove(obj("InferenceVersion", "v", version="8", uid="gone"))
    listed(cache, "InferenceVersion", version, as_of="7")
    assert cache.get("InferenceVersion", "ns", "v") is None
    cache.put(obj("InferenceVersion", "v", version="9", uid="another"))
    assert cache.get("InferenceVersion", "ns", "v") is not None


def test_an_object_that_got_our_label_back_is_known_again():
    cache, _ = filled(obj("Service", "s", version="5"))
    cache.remove(obj("Service", "s", version="8"))  # the watch tells a lost label as a deletion
    cache.put(obj("Service", "s", version="9"))
    assert cache.get("Service", "ns", "s") is not None
