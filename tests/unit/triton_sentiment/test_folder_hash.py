"""The hash contract against the shell pipeline that defines it."""

import hashlib

import pytest
from folder_hash import content_hash
from test_build import shell_hash


def test_a_folder_hashes_as_in_the_shell(tmp_path):
    for name in ("b.txt", "a/z.txt", "a.txt", "a-b/c.txt", "B.txt", "é.txt", ".hidden"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode() * 3)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("a.txt")
    assert content_hash(tmp_path) == shell_hash(tmp_path)


def test_a_file_hashes_to_its_own_sha256(tmp_path):
    (tmp_path / "one").write_bytes(b"weights")
    assert content_hash(tmp_path / "one") == "sha256:" + hashlib.sha256(b"weights").hexdigest()


def test_left_out_folders_do_not_count(tmp_path):
    (tmp_path / "kept").write_text("1")
    before = content_hash(tmp_path)
    (tmp_path / "preprocessor").mkdir()
    (tmp_path / "preprocessor" / "config.json").write_text("{}")
    assert content_hash(tmp_path, without=("preprocessor",)) == before
    assert content_hash(tmp_path) != before


def test_nothing_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing to hash"):
        content_hash(tmp_path / "absent")
