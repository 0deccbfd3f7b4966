"""s3:// against SeaweedFS; gs:// anonymously against the same, whose API is what GCS calls its XML API."""

import hashlib
import json
import os

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.servers.s3 import SECRET
from tests.unit.fetch.support import shell_hash, write_files

DATA = os.urandom(5_000_000)
HASH = "sha256:" + hashlib.sha256(DATA).hexdigest()
FILES = {"model.onnx": DATA, "pre/t.json": b"{}", "a b/ä+%": b"odd", "z": b""}


@pytest.fixture(scope="module", autouse=True)
def objects(s3):
    s3.put("models", "one/model.onnx", DATA)
    for name, data in FILES.items():
        s3.put("models", f"tree/2.4.0/{name}", data)
    s3.put("models", "tree/2.4.0-beside/other", b"not of it")


def plan(source, weight_hash=HASH, **more):
    return {"source": source, "weightHash": weight_hash, "fileName": "model.onnx", "allowLoopback": True, **more}


def test_an_object(pod, s3):
    ended = pod.run(plan("s3://models/one/model.onnx"), s3.env)
    assert ended.code == 0, ended
    assert ended.tree == {"m/1/model.onnx": DATA}


@pytest.mark.parametrize("source", ["s3://models/tree/2.4.0/", "s3://models/tree/2.4.0"])
def test_a_folder(pod, s3, tmp_path, source):
    ended = pod.run(plan(source, shell_hash(write_files(tmp_path / "tree", FILES))), s3.env)
    assert ended.code == 0, ended
    assert ended.tree == {f"m/1/{name}": data for name, data in FILES.items()}


@pytest.mark.parametrize("key", ["none", "tree/2.4", "none/"])
def test_what_is_not_there(pod, s3, key):
    ended = pod.run(plan(f"s3://models/{key}"), s3.env)
    assert (ended.code, ended.reason) == (1, "SourceNotFound"), ended


def test_a_bucket_that_is_not_there(pod, s3):
    ended = pod.run(plan("s3://no-such-bucket/x"), s3.env)
    assert (ended.code, ended.reason) == (1, "SourceNotFound"), ended


def test_a_wrong_hash_names_the_object(pod, s3):
    wrong = "sha256:" + "0" * 64
    ended = pod.run(plan("s3://models/one/model.onnx", wrong), s3.env)
    assert ended.message == f"model.weightHash: expected {wrong}, got {HASH} from s3://models/one/model.onnx"


@pytest.mark.parametrize("source", ["s3://models/one/model.onnx", "s3://models/tree/"])
def test_wrong_credentials(pod, s3, source):
    ended = pod.run(plan(source), {**s3.env, "AWS_SECRET_ACCESS_KEY": "wr0ng-s3cret"})
    assert (ended.code, ended.reason) == (1, "SourceForbidden"), ended
    assert "sourceSecretRef" in ended.message
    assert "wr0ng" not in ended.stderr


def test_half_of_the_credentials(pod, s3):
    ended = pod.run(plan("s3://models/x"), {"AWS_ENDPOINT_URL": s3.url, "AWS_ACCESS_KEY_ID": "x"})
    assert (ended.code, ended.reason) == (1, "SourceForbidden")


def test_without_credentials_it_asks_as_anyone(pod, s3):
    ended = pod.run(plan("s3://models/one/model.onnx"), {"AWS_ENDPOINT_URL": s3.url})
    assert ended.code == 0, ended


def test_the_secret_is_in_no_output(pod, s3):
    for source in ("s3://models/one/model.onnx", "s3://models/none", "s3://no-such-bucket/"):
        ended = pod.run(plan(source, "sha256:" + "0" * 64), s3.env)
        assert SECRET not in ended.stderr + str(ended.told)
        assert "X-Amz" not in ended.stderr + str(ended.told)


def test_loopback_is_refused_to_users(pod, s3):
    for source in ("s3://models/one/model.onnx", "s3://models/tree/"):
        ended = pod.run(plan(source, allowLoopback=False), s3.env)
        assert (ended.code, ended.reason) == (1, "SourceForbidden")


@pytest.mark.parametrize("endpoint", ["http://169.254.169.254", "https://[fe80::1]", "http://2130706433"])
def test_an_endpoint_in_the_node_is_refused(pod, s3, endpoint):
    ended = pod.run(plan("s3://models/tree/", allowLoopback=False), {**s3.env, "AWS_ENDPOINT_URL": endpoint})
    assert (ended.code, ended.reason) == (1, "SourceForbidden")


@pytest.mark.parametrize("endpoint", ["file:///etc", "localhost:9000", "https://"])
def test_an_endpoint_that_is_none(pod, s3, endpoint):
    ended = pod.run(plan("s3://models/tree/"), {**s3.env, "AWS_ENDPOINT_URL": endpoint})
    assert (ended.code, ended.reason) == (1, "SourceInvalid")


def test_a_server_that_is_away_is_transient(pod, s3):
    for source in ("s3://models/one/model.onnx", "s3://models/tree/"):
        env = {**s3.env, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
        ended = pod.run(plan(source), env, "--stall-timeout=1")
        assert (ended.code, ended.reason) == (75, "SourceUnreachable")


def test_environment_that_we_do_not_know_has_no_meaning(pod, s3):
    """obstore alone would take these: an endpoint of the user's choice, the node's role, no signature."""
    odd = {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:1", "AWS_SKIP_SIGNATURE": "true", "AWS_ENDPOINT_URL_STS": "x"}
    assert pod.run(plan("s3://models/one/model.onnx"), {**s3.env, **odd}).code == 0


@pytest.mark.parametrize("source", ["gs://models/one/model.onnx", "gs://models/tree/2.4.0/"])
def test_gs_without_a_key(pod, s3, tmp_path, source):
    tree = shell_hash(write_files(tmp_path / "tree", FILES))
    weight_hash = HASH if source.endswith("onnx") else tree
    ended = pod.run(plan(source, weight_hash), {"STORAGE_EMULATOR_HOST": s3.url})
    assert ended.code == 0, ended


def test_gs_with_a_key_signs_and_takes_no_endpoint_from_it(pod, s3):
    """The signature is GCS's own kind: SeaweedFS passes it over. That it is right was not seen here."""
    private = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key = {
        "client_email": "a@b",
        "private_key": private.decode(),
        "private_key_id": "1",
        "gcs_base_url": "http://127.0.0.1:1",
    }
    env = {"STORAGE_EMULATOR_HOST": s3.url, "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key)}
    ended = pod.run(plan("gs://models/one/model.onnx"), env)
    assert ended.code == 0, ended


def test_gs_with_a_key_that_is_none(pod, s3):
    env = {"STORAGE_EMULATOR_HOST": s3.url, "GOOGLE_SERVICE_ACCOUNT_KEY": '{"private_key": "s3cret-key"'}
    ended = pod.run(plan("gs://models/one/model.onnx"), env)
    assert (ended.code, ended.reason) == (1, "SourceForbidden")
    assert "s3cret-key" not in ended.stderr
