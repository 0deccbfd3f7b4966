"""Keys change with every input, and an interrupted build is never taken for a finished one."""

import pytest

from dev import cache


def test_key_tells_parts_apart():
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")
    assert cache.key_of("ab", "c") == cache.key_of(b"ab", b"c")


@pytest.mark.parametrize("change", ["content", "name", "mode", "none"])
def test_key_of_files_sees_content_name_and_mode(tmp_path, change):
    file = tmp_path / "a"
    file.write_text("one")
    before = cache.key_of_files(cache.files_below(tmp_path), tmp_path)
    match change:
        case "content":
            file.write_text("two")
        case "name":
            file.rename(tmp_path / "b")
        case "mode":
            file.chmod(0o755)
    after = cache.key_of_files(cache.files_below(tmp_path), tmp_path)
    assert (before == after) == (change == "none")


def test_compiled_python_is_no_input(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("x")
    assert list(cache.files_below(tmp_path)) == []


def test_a_failed_build_leaves_no_target_and_the_next_starts_afresh(tmp_path):
    target = tmp_path / "go" / "tool-1"

    def fail(folder):
        (folder / "half").touch()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.ensure(target, fail)
    assert not target.exists()
    assert cache.ensure(target, lambda folder: (folder / "whole").touch())
    assert [file.name for file in target.iterdir()] == ["whole"]


def test_a_finished_build_is_not_done_again(tmp_path):
    target = tmp_path / "tool-1"
    assert cache.ensure(target, lambda _: None)
    assert not cache.ensure(target, lambda _: pytest.fail("built twice"))
