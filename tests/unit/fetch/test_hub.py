"""hf:// against our own stand-in for the hub's two documented routes; the hub itself is out of reach here."""

import pytest

from tests.unit.fetch.support import shell_hash, write_files

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {"config.json": b"{}", "onnx/model.onnx": b"weights" * 1000, "onnx/a b.txt": b"x"}


@pytest.fixture
def env(https, ca):
    write_files(https.root / "owner" / "repo", FILES)
    return {"SSL_CERT_FILE": str(ca.bundle), "HF_ENDPOINT": https.url}


def plan(rest, weight_hash, **more):
    source = f"hf://owner/repo@{COMMIT}{rest}"
    return {"source": source, "weightHash": weight_hash, "fileName": "model.onnx", "allowLoopback": True, **more}


def test_a_repository_by_pages(pod, https, env):
    ended = pod.run(plan("", shell_hash(https.root / "owner" / "repo")), env)
    assert ended.code == 0, ended
    assert ended.tree == {f"m/1/{name}": data for name, data in FILES.items()}


def test_a_folder(pod, https, env):
    ended = pod.run(plan("/onnx", shell_hash(https.root / "owner" / "repo" / "onnx")), env)
    assert ended.code == 0, ended
    assert set(ended.tree) == {"m/1/model.onnx", "m/1/a b.txt"}


def test_a_file(pod, https, env):
    from inferenceversion_operator.api.content_hash import hash_file

    ended = pod.run(plan("/onnx/model.onnx", hash_file(https.root / "owner/repo/onnx/model.onnx")), env)
    assert ended.code == 0, ended


@pytest.mark.parametrize("rest", ["/none", "/onn"])
def test_what_is_not_there(pod, env, rest):
    ended = pod.run(plan(rest, "sha256:" + "0" * 64), env)
    assert (ended.code, ended.reason) == (1, "SourceNotFound")


def test_the_token_goes_to_the_hub(pod, https, env):
    before = len(list(https.seen()))
    pod.run(plan("", shell_hash(https.root / "owner" / "repo")), {**env, "HF_TOKEN": "hf_t0ken"})
    asked = [one for one in list(https.seen())[before:] if one["path"] != "/seen"]
    assert {one["authorization"] for one in asked} == {"Bearer hf_t0ken"}
