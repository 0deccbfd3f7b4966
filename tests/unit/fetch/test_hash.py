import os
import random
import subprocess

import pytest

from inferenceversion_operator.api.content_hash import IrregularFileError, hash_file, hash_tree
from tests.unit.fetch.support import shell_hash, write_files

FOLDERS = {
    "one file": {"model.onnx": b"weights"},
    "sorted by bytes, not by locale": {
        "b": b"1",
        "B": b"2",
        "a/z": b"3",
        "a-": b"4",
        "a.b": b"5",
        "é": b"6",
        "~": b"7",
    },
    "spaces and quotes": {"with space.txt": b"1", "it's": b"2", '"q"': b"3"},
    "empty file": {"empty": b"", "deep/er/still": b"x"},
    "a prefix that is no folder": {"pre": b"1", "prefix/x": b"2", "preprocessor/t.json": b"3"},
}


@pytest.mark.parametrize("files", FOLDERS.values(), ids=FOLDERS.keys())
def test_a_folder_hashes_as_the_shell_pipeline_says(tmp_path, files):
    assert hash_tree(write_files(tmp_path, files)) == shell_hash(tmp_path)


def test_random_folders_hash_as_the_shell_pipeline_says(tmp_path):
    chance = random.Random(7)
    names = ["a", "b", "B", "a b", "ä", "0", "-x", "z.z"]
    for number in range(10):
        files = {"/".join(chance.choices(names, k=3)): chance.randbytes(chance.randrange(5000)) for _ in range(9)}
        folder = write_files(tmp_path / str(number), files)
        assert hash_tree(folder) == shell_hash(folder)


def test_excluded_subtrees_are_left_out_and_only_they(tmp_path):
    write_files(tmp_path, {"model.onnx": b"1", "pre/t.json": b"2", "pre-2/t.json": b"3"})
    assert hash_tree(tmp_path, ["pre"]) == shell_hash(tmp_path, exclude="pre")


def test_a_file_hashes_as_sha256sum_says(tmp_path):
    path = write_files(tmp_path, {"f": os.urandom(3 << 20)}) / "f"
    said = subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True).stdout.split()[0]
    assert hash_file(path) == f"sha256:{said}"


@pytest.mark.parametrize("kind", ["link to a file", "link to a folder", "pipe"])
def test_what_is_no_regular_file_has_no_hash(tmp_path, kind):
    write_files(tmp_path, {"sub/model.onnx": b"1"})
    if kind == "pipe":
        os.mkfifo(tmp_path / "sub/odd")
    else:
        (tmp_path / "sub/odd").symlink_to("model.onnx" if kind == "link to a file" else "/")
    with pytest.raises(IrregularFileError) as caught:
        hash_tree(tmp_path)
    assert caught.value.path == "sub/odd"


def test_it_is_light_to_import():
    code = (
        "import sys, inferenceversion_operator.api.content_hash; print('obstore' in sys.modules, 'http' in sys.modules)"
    )
    from tests.unit.fetch.support import OPERATOR

    done = subprocess.run(
        ["python3", "-c", code],
        env={**os.environ, "PYTHONPATH": str(OPERATOR)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]
