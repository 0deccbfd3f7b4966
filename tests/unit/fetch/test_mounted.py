"""image://, pvc://, oci://: a tree that is mounted already."""

import gzip
import os
import shutil
import signal
from pathlib import Path

import pytest

from inferenceversion_operator.api.content_hash import hash_file
from tests.support.servers.process import wait_until
from tests.unit.fetch.support import shell_hash, write_files

FILES = {"model.onnx": b"weights" * 1000, "pre/t.json": b"{}", "post/c.json": b"[1]"}
ZERO = "sha256:" + "0" * 64


@pytest.fixture
def source(tmp_path):
    return write_files(tmp_path / "source", FILES)


def plan(source, scheme="pvc", **more):
    return {"source": f"{scheme}://claim/news", "mounted": str(source), "weightHash": shell_hash(source), **more}


def parts(source, **change):
    hashes = {"pre": shell_hash(source / "pre"), "post": shell_hash(source / "post"), **change}
    names = {"pre": "preprocessor", "post": "postprocessor"}
    return [{"name": names[path], "path": path, "hash": value} for path, value in hashes.items()]


def weights_alone(tmp_path):
    return shell_hash(write_files(tmp_path / "alone", {"model.onnx": FILES["model.onnx"]}))


@pytest.mark.parametrize("scheme", ["image", "pvc", "oci"])
def test_a_folder(pod, source, scheme):
    ended = pod.run(plan(source, scheme))
    assert (ended.code, ended.reason) == (0, "Verified"), ended
    assert ended.tree == {f"m/1/{name}": data for name, data in FILES.items()}


def test_parts_have_hashes_of_their_own(pod, source, tmp_path):
    ended = pod.run({**plan(source, parts=parts(source)), "weightHash": weights_alone(tmp_path)})
    assert ended.code == 0, ended


PART_REASONS = {
    "pre": ("PreprocessorHashDiffers", "preprocessor"),
    "post": ("PostprocessorHashDiffers", "postprocessor"),
}


@pytest.mark.parametrize(("path", "told"), PART_REASONS.items())
def test_a_wrong_hash_of_a_part(pod, source, tmp_path, path, told):
    wrong = parts(source, **{path: ZERO})
    ended = pod.run({**plan(source, parts=wrong), "weightHash": weights_alone(tmp_path)})
    reason, name = told
    assert (ended.code, ended.reason) == (1, reason)
    got = shell_hash(source / path)
    assert ended.message == f"{name}.configHash: expected {ZERO}, got {got} from pvc://claim/news ({path})"
    assert (ended.told["expected"], ended.told["got"], ended.tree) == (ZERO, got, {})


def test_a_part_that_is_not_there(pod, source):
    missing = [{"name": "preprocessor", "path": "tokenizer", "hash": ZERO}]
    ended = pod.run(plan(source, parts=missing))
    assert (ended.code, ended.reason) == (1, "SourceInvalid")
    assert "preprocessor.path: there is no tokenizer in pvc://claim/news" in ended.message


def test_a_part_that_is_one_file(pod, source, tmp_path):
    one = [{"name": "preprocessor", "path": "model.onnx", "hash": hash_file(source / "model.onnx")}]
    rest = shell_hash(write_files(tmp_path / "rest", {k: v for k, v in FILES.items() if k != "model.onnx"}))
    assert pod.run({**plan(source, parts=one), "weightHash": rest}).code == 0


def test_one_file(pod, source):
    file = source / "model.onnx"
    ended = pod.run({**plan(source), "mounted": str(file), "weightHash": hash_file(file), "fileName": "model.onnx"})
    assert (ended.code, set(ended.tree)) == (0, {"m/1/model.onnx"}), ended


def test_one_archive(pod, source, tmp_path):
    import io
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(source, ".")
    file = write_files(tmp_path, {"blob": gzip.compress(out.getvalue())}) / "blob"
    ended = pod.run({**plan(source), "source": "pvc://claim/news.tgz", "mounted": str(file)})
    assert ended.code == 0, ended


def test_nothing_is_there(pod, tmp_path):
    ended = pod.run({"source": "pvc://claim/none", "mounted": str(tmp_path / "none"), "weightHash": ZERO})
    assert (ended.code, ended.reason) == (1, "SourceNotFound")
    assert "pvc://claim/none" in ended.message


def test_an_empty_folder(pod, tmp_path):
    (tmp_path / "empty/er").mkdir(parents=True)
    ended = pod.run({"source": "pvc://claim/x", "mounted": str(tmp_path / "empty"), "weightHash": ZERO})
    assert (ended.code, ended.reason) == (1, "SourceInvalid")


ODD = {
    "a link to a file": lambda path: path.symlink_to("/etc/passwd"),
    "a link to a folder": lambda path: path.symlink_to("/etc"),
    "a link within": lambda path: path.symlink_to("t.json"),
    "a broken link": lambda path: path.symlink_to("nowhere"),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_what_is_no_regular_file_is_refused_by_name(pod, source, make):
    wanted = plan(source)
    make(source / "pre/odd")
    ended = pod.run(wanted)
    assert (ended.code, ended.reason) == (1, "SourceInvalid")
    assert "pre/odd" in ended.message
    assert ended.tree == {}


def test_the_mounted_folder_itself_may_not_be_a_link(pod, source, tmp_path):
    (tmp_path / "link").symlink_to(source)
    ended = pod.run({**plan(source), "mounted": str(tmp_path / "link")})
    assert (ended.code, ended.reason) == (1, "SourceInvalid")


@pytest.mark.parametrize("odd", ["pre/t.json", "pre"])
def test_what_may_not_be_read_is_named(pod, source, odd):
    wanted = plan(source)
    (source / odd).chmod(0)
    if os.geteuid() == 0:  # without the capability that lets root read everything
        if not shutil.which("setpriv"):
            pytest.skip("no setpriv")
        pod.prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    ended = pod.run(wanted)
    (source / odd).chmod(0o700)
    assert (ended.code, ended.reason) == (1, "SourceForbidden")
    assert odd in ended.message


def test_the_copy_is_what_was_hashed(pod, source):
    """A claim can be written to after it was verified: what Triton sees is the copy."""
    assert pod.run(plan(source)).code == 0
    (source / "model.onnx").write_bytes(b"evil")
    assert pod.tree()["m/1/model.onnx"] == FILES["model.onnx"]


def test_a_key_that_the_config_map_lacks(pod, source):
    ended = pod.run(plan(source, configs=[{"key": "none", "to": "m/config.pbtxt"}]))
    assert (ended.code, ended.reason, ended.tree) == (1, "PlanInvalid", {})


def test_the_generated_config_wins(pod, source):
    wanted = plan(source, layout=[{"from": ".", "to": "."}], configs=[{"key": "config.pbtxt", "to": "pre/t.json"}])
    ended = pod.run(wanted)
    assert (ended.code, ended.tree["pre/t.json"]) == (0, b'name: "m"\n')


def test_leftovers_of_an_earlier_run_are_gone(pod, source):
    write_files(pod.models, {"old/1/model.onnx": b"old", ".fetch/tree/x": b"half", "m/1/extra": b"x"})
    write_files(pod.work, {".fetch/tree/y": b"half", "z": b"z"})
    (pod.models / "link").symlink_to("/etc")
    ended = pod.run(plan(source))
    assert (ended.code, ended.tree) == (0, {f"m/1/{name}": data for name, data in FILES.items()})
    assert [path.name for path in pod.models.iterdir()] == ["m"]
    assert not list(pod.work.iterdir())


def test_work_on_another_mount_is_not_used(pod, source, tmp_path):
    """Two mounts of one volume: a rename between them fails, so fetch works out of sight within models."""
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system")
    pod.work = other / f"fetch-test-{os.getpid()}"
    ended = pod.run(plan(source))
    pod.work.rmdir()
    assert ended.code == 0, ended
    assert [path.name for path in pod.models.iterdir()] == ["m"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_the_middle_and_run_again(pod, tmp_path, end):
    """A pipe of data that does not end stands for a long copy: fetch is killed while it writes."""
    big = write_files(tmp_path / "big", {"a": os.urandom(1 << 20), "b": b""})
    with (big / "b").open("wb") as file:
        file.truncate(8 << 30)  # sparse: hours for nobody, seconds to copy
    process = pod.start({"source": "pvc://c/x", "mounted": str(big), "weightHash": ZERO})
    half = pod.work / ".fetch/tree/b"
    wait_until("fetch is in the middle", lambda: half.exists() and half.stat().st_size > 1 << 20)
    process.send_signal(end)
    process.communicate(timeout=30)
    assert process.returncode == (-end if end is signal.SIGKILL else 128 + end)
    assert pod.tree() == {}
    if end is signal.SIGTERM:
        assert not list(pod.work.iterdir())
    (big / "b").write_bytes(b"now small")
    ended = pod.run(plan(big))
    assert (ended.code, set(ended.tree)) == (0, {"m/1/a", "m/1/b"}), ended
    assert not list(pod.work.iterdir())


def test_running_twice_ends_the_same(pod, source):
    first, second = pod.run(plan(source)), pod.run(plan(source))
    assert (first.code, second.code) == (0, 0)
    assert first.tree == second.tree
