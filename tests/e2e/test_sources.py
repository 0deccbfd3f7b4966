"""Models come from real servers; every byte is checked, each time a pod starts."""

import json
import tempfile
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.cluster_manifests import artifact, sentiment
from tests.support.cluster_models import ECHO, python_model
from tests.support.cluster_namespace import Namespace, Object
from tests.support.cluster_servers import (
    FileServer,
    ObjectStore,
    folder_hash,
    sha256,
    start_file_server,
    start_object_store,
    tarball,
)
from tests.support.load import Load, ask, failed
from tests.support.wait import NotYet, wait_until

FOLDER = {"model.py": ECHO, "data/words.txt": b"one\ntwo\n"}


@pytest.fixture(scope="module")
def files(ns: Namespace, operator_image: str) -> FileServer:
    return start_file_server(ns, operator_image)


@pytest.fixture(scope="module")
def store(ns: Namespace, operator_image: str) -> ObjectStore:
    return start_object_store(ns, operator_image)


def answers(ns: Namespace, endpoint: str) -> bool:
    answer = ask(ns.target(endpoint))
    if failed([answer]):
        raise NotYet(answer)
    return True


def serves(ns: Namespace, endpoint: str) -> None:
    ns.wait_stable("1.0.0", endpoint)
    wait_until(f"waiting until {endpoint} answers", lambda: answers(ns, endpoint), within=30)


def test_a_tokenizer_that_changed_alone_comes_by_https(ns, files, image):
    """The same weights, another preprocessor: another version, and told apart by the preprocessor's hash alone."""
    source = files.put("tokenizer.tar.gz", tarball(artifact("tokenizer")))
    model = {"source": source, "sourceSecretRef": {"name": files.secret}}
    ns.apply(sentiment("1.0.0", image, endpoint="tokenizer", variant="tokenizer", model=model))
    serves(ns, "tokenizer")
    told = ns.condition("iv", "tokenizer-1.0.0", "WeightsVerified")
    assert told["status"] == "True"
    spec = ns.seen("iv", "tokenizer-1.0.0")["spec"]
    good = sentiment("1.0.0", image)["spec"]
    assert spec["model"]["weightHash"] == good["model"]["weightHash"]
    assert spec["preprocessor"]["configHash"] != good["preprocessor"]["configHash"]


def test_a_folder_comes_by_s3(ns, store, image):
    for path, data in FOLDER.items():
        store.put("models", f"echo/{path}", data)
    secret = {"sourceSecretRef": {"name": store.secret}}
    ns.apply(python_model("1.0.0", image, "s3://models/echo/", folder_hash(FOLDER), endpoint="folder", model=secret))
    serves(ns, "folder")


def test_a_bucket_that_may_not_be_read_is_named(ns, store, image):
    wrong = {
        "AWS_ENDPOINT_URL": f"http://s3.{ns.name}.svc:8333",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "x",
    }
    ns.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nobody"}, "stringData": wrong})
    secret = {"sourceSecretRef": {"name": "nobody"}}
    ns.apply(python_model("1.0.0", image, "s3://models/echo/", folder_hash(FOLDER), endpoint="nobody", model=secret))
    told = ns.wait_condition("iv", "nobody-1.0.0", "WeightsVerified", "False", reason="SourceForbidden", within=45)
    assert "s3://models/echo/" in told["message"]
    ns.kubectl.delete("iv", "nobody-1.0.0")


@pytest.fixture(scope="module")
def own_nodes(ns: Namespace) -> Cluster:
    """Return the cluster if its nodes are containers of ours: files are put into them by docker."""
    if not ns.cluster.ours:
        pytest.skip("needs the nodes of our own cluster")
    return ns.cluster


def test_a_folder_comes_from_a_claim(ns, own_nodes, image):
    node, path = own_nodes.nodes[-1], f"/var/local/{ns.name}"
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
        Path(archive.name).write_bytes(tarball({f"news/v1/{name}": data for name, data in FOLDER.items()}))
        own_nodes.call(["docker", "exec", node, "mkdir", "-p", path])
        own_nodes.call(["docker", "cp", archive.name, f"{node}:{path}/model.tar.gz"])
    own_nodes.call(["docker", "exec", node, "tar", "xzf", f"{path}/model.tar.gz", "-C", path])
    ns.apply(volume(ns.name, node, path), claim(ns.name))
    ns.apply(python_model("1.0.0", image, "pvc://models/news/v1", folder_hash(FOLDER), endpoint="claim"))
    serves(ns, "claim")
    ns.kubectl.delete("pv", ns.name)


def volume(name: str, node: str, path: str) -> Object:
    """Return a volume that is a folder of a node."""
    here = [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "by-hand",
            "local": {"path": path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": here}]}},
        },
    }


def claim(volume_name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models"},
        "spec": {
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "by-hand",
            "volumeName": volume_name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def test_an_image_that_is_nothing_but_a_model_comes_by_oci(ns, own_nodes, image):
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
        Path(archive.name).write_bytes(tarball(FOLDER))
        own_nodes.call(["docker", "import", archive.name, "localhost/e2e-model:1"])
    reference = json.loads(own_nodes.dev("load-image", "localhost/e2e-model:1", "-o", "json"))[0]["reference"]
    ns.apply(python_model("1.0.0", image, f"oci://{reference}", folder_hash(FOLDER), endpoint="oci"))
    serves(ns, "oci")


def test_bytes_that_change_behind_the_url_are_refused_and_heal(ns, files, image):
    source = files.put("changing/model.py", ECHO)
    secret = {"sourceSecretRef": {"name": files.secret}}
    ns.apply(python_model("1.0.0", image, source, sha256(ECHO), endpoint="changing", model=secret))
    serves(ns, "changing")
    with Load(ns.target("changing"), rate=5) as load:
        files.put("changing/model.py", ECHO + b"# other bytes\n")
        ns.kubectl.patch("iv", "changing-1.0.0", {"spec": {"autoscaling": {"minReplicas": 2}}})
        told = ns.wait_condition(
            "iv", "changing-1.0.0", "WeightsVerified", "False", reason="WeightHashDiffers", within=45
        )
        assert sha256(ECHO) in told["message"]
        assert sha256(ECHO + b"# other bytes\n") in told["message"]
        assert ns.seen("iv", "changing-1.0.0")["status"]["readyReplicas"] == 1
        files.put("changing/model.py", ECHO)
        ns.wait_condition("iv", "changing-1.0.0", "Ready", reason="Ready", within=120)
        assert ns.seen("iv", "changing-1.0.0")["status"]["readyReplicas"] == 2
    assert failed(load.answers) == []
