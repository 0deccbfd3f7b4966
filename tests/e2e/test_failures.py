"""A version that can't run says why in its conditions, within seconds; what ran before keeps serving."""

import json
import time

import pytest

from tests.support.cluster_manifests import Object, sentiment
from tests.support.cluster_models import ECHO, OPENS_A_GRAPH, graph_of_opset, python_model
from tests.support.cluster_namespace import Namespace
from tests.support.cluster_servers import FileServer, folder_hash, sha256, start_file_server, tarball
from tests.support.load import Load, ask, failed, versions_of
from tests.support.wait import wait_until

WRONG = "sha256:" + "0" * 64
NEXT = iter(range(1, 100))


@pytest.fixture(scope="module")
def served(ns: Namespace, image: str) -> Namespace:
    ns.apply(sentiment("1.0.0", image))
    ns.wait_stable("1.0.0")
    wait_until("waiting until the Gateway answers", lambda: not failed([ask(ns.target())]), within=30)
    return ns


@pytest.fixture(scope="module")
def files(served: Namespace, operator_image: str) -> FileServer:
    return start_file_server(served, operator_image)


@pytest.fixture
def next_version() -> str:
    """Return a version above all before it: it is the candidate, and the failed one before it goes to rest."""
    return f"1.0.{next(NEXT)}"


def shows_cause(ns: Namespace, obj: Object, type_: str, reason: str, *words: str, within: float = 45) -> None:
    """Apply a version that can't run: a condition has to name the cause while the old one answers every request."""
    name = obj["metadata"]["name"]
    try:
        with Load(ns.target(), rate=5) as load:
            began = time.monotonic()
            ns.apply(obj)
            told = ns.wait_condition("iv", name, type_, "False", reason=reason, within=within)
            print(f"{reason} after {time.monotonic() - began:.1f} s: {told['message']}")
            for word in words:
                assert word in told["message"], f"{word!r} is not in: {told['message']}"
            ready = ns.wait_condition("iv", name, "Ready", "False", reason=reason, within=5)
            assert words[0] in ready["message"]
            endpoint = ns.condition("iep", "news", "Ready")
            assert "1.0.0" in endpoint["message"]
        assert failed(load.answers) == []
        assert set(versions_of(load.answers)) == {"1.0.0"}
    finally:
        ns.kubectl.delete("iv", name)


def test_a_wrong_weight_hash_shows_expected_and_got(served, image, next_version):
    right = sentiment("9.9.9", image)["spec"]["model"]["weightHash"]
    version = sentiment(next_version, image, model={"weightHash": WRONG})
    shows_cause(served, version, "WeightsVerified", "WeightHashDiffers", WRONG, right)


def test_a_wrong_preprocessor_hash_shows_expected_and_got(served, image, next_version):
    right = sentiment("9.9.9", image)["spec"]["preprocessor"]["configHash"]
    version = sentiment(next_version, image, preprocessor={"configHash": WRONG})
    shows_cause(served, version, "WeightsVerified", "PreprocessorHashDiffers", WRONG, right)


def test_an_image_that_cannot_be_pulled_is_named(served, next_version):
    version = sentiment(next_version, f"localhost:1/no-such-image@{WRONG}")
    shows_cause(served, version, "WeightsVerified", "ImageNotPulled", "localhost:1/no-such-image")


def test_a_folder_that_the_image_does_not_have_is_named(served, image, next_version):
    version = sentiment(next_version, image, model={"source": "image:///opt/no-such-model"})
    shows_cause(served, version, "WeightsVerified", "SourceNotFound", "/opt/no-such-model")


def test_a_url_that_is_not_there_is_named(served, files, image, next_version):
    source = f"{files.url}/files/no-such-model.tar.gz"
    secret = {"sourceSecretRef": {"name": files.secret}}
    version = python_model(next_version, image, source, WRONG, model=secret)
    shows_cause(served, version, "WeightsVerified", "SourceNotFound", source, "404")


def test_a_gpu_that_no_node_has_is_named(served, image, next_version):
    limits = {"limits": {"example.com/no-such-gpu": "1"}}
    version = sentiment(next_version, image, runtime={"resources": limits})
    shows_cause(served, version, "Scheduled", "Unschedulable", "example.com/no-such-gpu")


def test_a_contract_that_the_model_does_not_keep_is_named(served, image, next_version):
    outputs = [{"name": "SENTIMENT", "datatype": "BYTES", "shape": [1]}]
    version = sentiment(next_version, image, contract={"outputs": outputs})
    shows_cause(served, version, "Loaded", "LoadFailed", "SENTIMENT")


def test_a_file_that_triton_misses_is_named(served, image, next_version):
    part = sentiment("9.9.9", image)["spec"]["postprocessor"]["configHash"]
    version = python_model(next_version, image, "image:///opt/news-sentiment/postprocessor", part)
    shows_cause(served, version, "WeightsVerified", "SourceInvalid", "no model.py")


def test_an_opset_that_the_runtime_does_not_know_is_named(served, files, image, next_version):
    model = {"model.py": OPENS_A_GRAPH, "model.onnx": graph_of_opset(99)}
    source = files.put("opset/model.tar.gz", tarball(model))
    secret = {"sourceSecretRef": {"name": files.secret}}
    version = python_model(next_version, image, source, folder_hash(model), model=secret)
    shows_cause(served, version, "Loaded", "LoadFailed", "Opset 99", "till opset")


def test_a_secret_that_is_not_there_yet_is_named_and_healed(served, files, image, next_version):
    source = files.put("late/model.py", ECHO)
    version = python_model(next_version, image, source, sha256(ECHO), model={"sourceSecretRef": {"name": "late"}})
    served.apply(version)
    name = version["metadata"]["name"]
    told = served.wait_condition("iv", name, "WeightsVerified", "False", reason="ContainerConfigError", within=30)
    assert "late" in told["message"]
    trust = served.kubectl.run("get", "secret", files.secret, "-o", "json")
    served.apply(_renamed(trust, "late"))
    served.wait_stable(next_version)


def _renamed(text: str, name: str) -> Object:
    obj = json.loads(text)
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": obj["data"]}
