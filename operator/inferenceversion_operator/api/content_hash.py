r"""sha256 of files and folders as docs/architecture.md defines it; pure, standard library only.

A folder's hash is the sha256 of one line a regular file, ``"<sha256 of the file>  <path>\n"``, sorted by the path's
bytes: what ``find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum -- | sha256sum`` prints.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

PREFIX = "sha256:"


class IrregularFileError(ValueError):
    """Something in a folder is neither a regular file nor a folder, so that the folder has no hash.

    Args:
        path: relative to the folder.
    """

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is neither a regular file nor a folder")
        self.path = path


def hash_file(path: Path | str) -> str:
    """Return ``sha256:`` and what ``sha256sum`` says."""
    with open(path, "rb") as file:  # noqa: PTH123 - a str is as good as a Path
        return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()


def hash_tree(root: Path | str, exclude: Iterable[str] = ()) -> str:
    """Return the hash of the folder ``root`` without the subtrees (or files) ``exclude``, relative to it.

    Raises:
        IrregularFileError: a link, socket, pipe or device is in it; what it leads to could not be vouched for.
    """
    paths = without(dict.fromkeys(_regular_files(os.fspath(root)), ""), exclude)
    return hash_manifest({path: hash_file(os.path.join(root, path)).removeprefix(PREFIX) for path in paths})  # noqa: PTH118


def hash_manifest(files: Mapping[str, str]) -> str:
    """Return the hash of a folder whose files (path -> hex sha256) are known."""
    whole = hashlib.sha256()
    for path in sorted(files, key=os.fsencode):
        whole.update(files[path].encode() + b"  " + os.fsencode(path) + b"\n")
    return PREFIX + whole.hexdigest()


def subtree(files: Mapping[str, str], path: str) -> dict[str, str]:
    """Return the files below the folder ``path``, relative to it."""
    if path == ".":
        return dict(files)
    prefix = path + "/"
    return {name.removeprefix(prefix): digest for name, digest in files.items() if name.startswith(prefix)}


def without(files: Mapping[str, str], exclude: Iterable[str]) -> dict[str, str]:
    """Return the files that are in none of the subtrees ``exclude`` (nor one of them)."""
    cut = tuple(exclude)
    return {name: digest for name, digest in files.items() if not any(covers(path, name) for path in cut)}


def covers(path: str, name: str) -> bool:
    """Say whether the file ``name`` is ``path`` or lies below it."""
    return path in (".", name) or name.startswith(path + "/")


def _regular_files(root: str, folder: str = "") -> Iterable[str]:
    with os.scandir(os.path.join(root, folder)) as entries:  # noqa: PTH118
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                yield from _regular_files(root, name)
            elif stat.S_ISREG(mode):
                yield name
            else:
                raise IrregularFileError(name)
