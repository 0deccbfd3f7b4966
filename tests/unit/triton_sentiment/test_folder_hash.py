"""The hash contract against the shell pipeline that defines it."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from folder_hash import content_hash

ROOT = Path(__file__).parents[3]
PAGES = ("docs/architecture.md", "images/triton-sentiment/README.md")


def recipe(page):
    """Return the shell pipeline that a page tells people to use."""
    (found,) = re.findall(r"`((?:cd DIR && )?find \. -type f [^`]*\| sha256sum)`", (ROOT / page).read_text("utf-8"))
    return found.removeprefix("cd DIR && ")


@pytest.mark.parametrize("page", PAGES)
def test_a_folder_hashes_as_the_page_says(tmp_path, page):
    names = ("b.txt", "a/z.txt", "a.txt", "a-b/c.txt", "B.txt", "é.txt", ".hidden")
    for name in (*names, "with two  spaces.txt", "it's.txt", 'a "quote".txt', "-n"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode() * 3)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("a.txt")
    said = subprocess.run(["bash", "-c", recipe(page)], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert content_hash(tmp_path) == f"sha256:{said.split()[0]}"


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
