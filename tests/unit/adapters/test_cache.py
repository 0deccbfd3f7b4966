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
    cache.replace("Deployment", [obj("Deployment", "e")])
    assert {o["kind"] for o in cache.of_endpoint(("ns", "news"))} == {"Deployment", "Service"}
    assert cache.get("Deployment", "ns", "d") is None
    assert changed == [("ns", "news")]


def test_a_list_of_one_namespace_leaves_the_others():
    cache, _ = filled(obj("Deployment", "d"), obj("Deployment", "d", namespace="other"))
    cache.replace("Deployment", [], "ns")
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
