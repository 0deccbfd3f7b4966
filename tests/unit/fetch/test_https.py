"""https:// against a real server with a CA of its own."""

import gzip
import hashlib
import io
import os
import tarfile

import pytest

from tests.unit.fetch.support import shell_hash, write_files

DATA = os.urandom(3_000_000)
HASH = "sha256:" + hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def model(https, http):
    for server in (https, http):
        write_files(server.root, {"model.onnx": DATA})


@pytest.fixture
def env(ca):
    return {"SSL_CERT_FILE": str(ca.bundle)}


def plan(source, **more):
    return {"source": source, "weightHash": HASH, "fileName": "model.onnx", "allowLoopback": True, **more}


def test_a_single_file(pod, https, env):
    configs = [{"key": "config.pbtxt", "to": "m/config.pbtxt"}]
    ended = pod.run(plan(f"{https.url}/files/model.onnx", configs=configs), env)
    assert (ended.code, ended.reason) == (0, "Verified"), ended
    assert ended.tree == {"m/1/model.onnx": DATA, "m/config.pbtxt": b'name: "m"\n'}
    assert not list(pod.work.iterdir())


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_an_archive_with_parts(pod, https, env, tmp_path, name):
    tree = write_files(tmp_path / "tree", {"model.onnx": DATA, "pre/t.json": b"{}", "post/c.json": b"[]"})
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz" if name.endswith("gz") else "w") as archive:
        archive.add(tree, ".")
    write_files(https.root, {name: out.getvalue()})
    parts = [
        {"name": "preprocessor", "path": "pre", "hash": shell_hash(tree / "pre")},
        {"name": "postprocessor", "path": "post", "hash": shell_hash(tree / "post")},
    ]
    layout = [{"from": ".", "to": "g/1"}, {"from": "pre", "to": "pre/1"}, {"from": "post", "to": "post/1"}]
    wanted = plan(f"{https.url}/files/{name}", parts=parts, layout=layout)
    (tmp_path / "tree/pre/t.json").unlink(), (tmp_path / "tree/post/c.json").unlink()
    ended = pod.run({**wanted, "weightHash": shell_hash(tree)}, env)
    assert ended.code == 0, ended
    assert set(ended.tree) == {"g/1/model.onnx", "pre/1/t.json", "post/1/c.json"}


def test_a_ca_that_is_not_trusted(pod, https):
    ended = pod.run(plan(f"{https.url}/files/model.onnx"))
    assert (ended.code, ended.reason) == (1, "SourceUnreachable")
    assert "certificate" in ended.message


def test_a_ca_of_the_secret(pod, https, ca):
    source = plan(f"{https.url}/files/model.onnx")
    assert pod.run(source, {"CA_CERTIFICATES": ca.bundle.read_text()}).code == 0
    bad = pod.run(source, {"CA_CERTIFICATES": "no certificate"})
    assert (bad.code, bad.reason) == (1, "SourceForbidden")


def test_a_certificate_for_another_name(pod, https, env):
    ended = pod.run(plan(f"{https.url}/files/model.onnx".replace("localhost", "127.0.0.1")), env)
    assert (ended.code, ended.reason) == (1, "SourceUnreachable")


@pytest.mark.parametrize("step", [700_000, 1_500_000])
def test_a_broken_connection_is_resumed_and_the_hash_is_over_the_whole(pod, https, env, step):
    before = len(list(https.seen()))
    ended = pod.run(plan(f"{https.url}/cut/{step}/model.onnx"), env)
    assert ended.code == 0, ended
    asked = [one["range"] for one in list(https.seen())[before:] if one["path"].startswith("/cut")]
    assert asked[:2] == [None, f"bytes={step}-"]
    assert ended.tree == {"m/1/model.onnx": DATA}
    assert "going on" in ended.stderr


def test_an_archive_is_resumed_in_the_middle_of_a_member(pod, https, env, tmp_path):
    tree = write_files(tmp_path / "tree", {"a": DATA, "b": b"x"})
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(tree, ".")
    write_files(https.root, {"resumed.tar.gz": gzip.compress(out.getvalue())})
    ended = pod.run({**plan(f"{https.url}/cut/800000/resumed.tar.gz"), "weightHash": shell_hash(tree)}, env)
    assert ended.code == 0, ended


def test_a_server_without_ranges_is_read_again_from_the_start(pod, https, env):
    ended = pod.run(plan(f"{https.url}/cut-once/1000000/model.onnx"), env)
    assert ended.code == 0, ended


def test_a_file_that_changes_in_the_middle_is_not_patched_together(pod, https, env):
    ended = pod.run(plan(f"{https.url}/swap/1000000/model.onnx"), env)
    assert (ended.code, ended.reason) == (75, "SourceUnreachable")
    assert "changed while it was downloaded" in ended.message
    assert ended.tree == {}


def test_a_busy_server_is_asked_again(pod, https, env):
    assert pod.run(plan(f"{https.url}/busy/2/model.onnx"), env).code == 0


def test_a_server_that_falls_silent(pod, https, env):
    ended = pod.run(plan(f"{https.url}/stall/model.onnx"), env, "--stall-timeout=1")
    assert (ended.code, ended.reason) == (75, "SourceUnreachable")
    assert ended.tree == {}


STATUS = {
    404: (1, "SourceNotFound"),
    410: (1, "SourceNotFound"),
    403: (1, "SourceForbidden"),
    401: (1, "SourceForbidden"),
    400: (1, "SourceInvalid"),
    418: (1, "SourceInvalid"),
}


@pytest.mark.parametrize(("status", "expected"), STATUS.items())
def test_what_a_status_means(pod, https, env, status, expected):
    ended = pod.run(plan(f"{https.url}/status/{status}"), env)
    assert (ended.code, ended.reason) == expected
    assert str(status) in ended.message
    assert "nobody should see" not in ended.stderr


def test_a_server_that_fails_for_good_is_transient(pod, https, env):
    ended = pod.run(plan(f"{https.url}/status/500"), env, "--stall-timeout=1")
    assert (ended.code, ended.reason) == (75, "SourceUnreachable")
    assert "HTTP 500" in ended.message


def test_no_server_is_transient(pod, env):
    ended = pod.run(plan("https://localhost:1/model.onnx"), env, "--stall-timeout=1")
    assert (ended.code, ended.reason) == (75, "SourceUnreachable")


def test_a_wrong_hash_says_all_and_leaves_nothing(pod, https, env):
    wrong = "sha256:" + "0" * 64
    ended = pod.run({**plan(f"{https.url}/files/model.onnx?X-Amz-Signature=5ec237"), "weightHash": wrong}, env)
    assert ended.code == 1
    assert ended.told == {
        "reason": "WeightHashDiffers",
        "message": f"model.weightHash: expected {wrong}, got {HASH} from {https.url}/files/model.onnx",
        "expected": wrong,
        "got": HASH,
    }
    assert ended.tree == {}
    assert not list(pod.work.iterdir())
    assert "5ec237" not in ended.stderr


def test_bytes_that_change_are_refused_and_heal(pod, https, env):
    source = f"{https.url}/files/model.onnx"
    assert pod.run(plan(source), env).code == 0
    write_files(https.root, {"model.onnx": b"other"})
    refused = pod.run(plan(source), env)
    assert (refused.code, refused.reason, refused.tree) == (1, "WeightHashDiffers", {})
    write_files(https.root, {"model.onnx": DATA})
    assert pod.run(plan(source), env).code == 0


def test_larger_than_allowed_is_refused_before_it_is_downloaded(pod, https, env):
    ended = pod.run(plan(f"{https.url}/files/model.onnx"), env, "--max-bytes=1000000")
    assert (ended.code, ended.reason) == (1, "SourceTooLarge")
    assert str(len(DATA)) in ended.message


SECRETS = {
    "bearer": ("bearer/t0ps3cret", {"HTTP_BEARER_TOKEN": "t0ps3cret"}),
    "basic": ("basic/me/p4ssw0rd", {"HTTP_USERNAME": "me", "HTTP_PASSWORD": "p4ssw0rd"}),
}


@pytest.mark.parametrize(("route", "secret"), SECRETS.values(), ids=SECRETS.keys())
def test_credentials_of_the_secret_are_used(pod, https, env, route, secret):
    assert pod.run(plan(f"{https.url}/{route}/model.onnx"), {**env, **secret}).code == 0
    without = pod.run(plan(f"{https.url}/{route}/model.onnx"), env)
    assert (without.code, without.reason) == (1, "SourceForbidden")
    assert "sourceSecretRef" in without.message


def test_a_redirect_is_followed_and_to_the_same_origin_keeps_the_credentials(pod, https, env):
    target = f"{https.url}/bearer/t0ps3cret/model.onnx"
    ended = pod.run(plan(f"{https.url}/to?url={target}"), {**env, "HTTP_BEARER_TOKEN": "t0ps3cret"})
    assert ended.code == 0, ended


def test_credentials_do_not_follow_a_redirect_to_another_origin(pod, https, http, ca, env, tmp_path):
    from tests.support.servers.files import FileServer

    root = write_files(tmp_path / "other", {"model.onnx": DATA})
    with FileServer(root, ca) as other:
        target = f"{other.url}/files/model.onnx"
        ended = pod.run(plan(f"{https.url}/to?url={target}"), {**env, "HTTP_BEARER_TOKEN": "t0ps3cret"})
        assert ended.code == 0, ended
        (seen,) = [one for one in other.seen() if one["path"] == "/files/model.onnx"]
        assert seen["authorization"] is None


REDIRECTS = {
    "to http": "http://localhost:1/m",
    "to a file": "file:///etc/passwd",
    "to gopher": "gopher://localhost/",
    "with a user": "https://u:p@localhost:1/",
}


@pytest.mark.parametrize("target", REDIRECTS.values(), ids=REDIRECTS.keys())
def test_redirects_that_are_not_followed(pod, https, env, target):
    ended = pod.run(plan(f"{https.url}/to?url={target}", allowInsecure=True), env)
    assert (ended.code, ended.reason) == (1, "SourceInvalid")
    assert "redirects to" in ended.message


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]"])
def test_a_redirect_into_the_node_is_forbidden(pod, https, env, host):
    ended = pod.run(plan(f"{https.url}/to?url=https://{host}/latest/meta-data/"), env)
    assert (ended.code, ended.reason) == (1, "SourceForbidden")


def test_a_redirect_loop_ends(pod, https, env):
    before = len(list(https.seen()))
    ended = pod.run(plan(f"{https.url}/loop/0"), env)
    assert (ended.code, ended.reason) == (1, "SourceInvalid")
    assert len(list(https.seen())) - before < 10


def test_loopback_is_refused_to_users(pod, https, env):
    ended = pod.run(plan(f"{https.url}/files/model.onnx", allowLoopback=False), env)
    assert (ended.code, ended.reason) == (1, "SourceForbidden")
    assert "loopback" in ended.message


def test_http_only_where_the_plan_allows_it(pod, http):
    source = f"{http.url}/files/model.onnx"
    refused = pod.run(plan(source))
    assert (refused.code, refused.reason) == (1, "SourceInvalid")
    assert pod.run(plan(source, allowInsecure=True)).code == 0


SOURCES = [
    "file:///etc/passwd", "ftp://h/m", "FILE:///etc/passwd", "data:,x", "/etc/passwd", "https:///m", "https://h:port/m",
    "https://[::1/m", "https://user:pw@localhost/m", "hf://owner/repo@main", "hf://owner/repo", "hf://../repo@" + "a" * 40,
    "s3://", "s3:///key", "s3://b/a//b", "s3://b/k?versionId=1", "gs:///k", "jar:https://h/m", "http://h/m",
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_sources_that_are_none(pod, source):
    ended = pod.run(plan(source, allowLoopback=False))
    assert (ended.code, ended.reason) == (1, "SourceInvalid"), ended
    assert ended.tree == {}
    assert "Traceback" not in ended.stderr


def test_secrets_are_in_no_output(pod, https, env):
    """Whatever happens to the source: neither the environment's secrets nor the query are repeated."""
    secrets = {"HTTP_BEARER_TOKEN": "t0ps3cret", "AWS_SECRET_ACCESS_KEY": "aws5ecret", "HF_TOKEN": "hf_s3cret"}
    routes = ["files/model.onnx", "files/none", "status/403", "status/400", "swap/10/model.onnx", "loop/0",
              "to?url=file:///t0ps3cret", "to?url=https://aws5ecret.localhost/", "cut-once/9/model.onnx"]  # fmt: skip
    for route in routes:
        mark = "&" if "?" in route else "?"
        ended = pod.run(plan(f"{https.url}/{route}{mark}sig=qu3ry"), {**env, **secrets}, "--stall-timeout=2")
        said = ended.stderr + str(ended.told)
        assert not [word for word in ("t0ps3cret", "aws5ecret", "hf_s3cret", "qu3ry") if word in said], said


def test_the_termination_message_is_one_short_line(pod, https, env):
    ended = pod.run(plan(f"{https.url}/files/" + "/".join(["n" * 200] * 15)), env)
    assert len(pod.log.read_bytes()) < 4096
    assert pod.log.read_text().count("\n") == 1
    assert ended.reason == "SourceNotFound"
