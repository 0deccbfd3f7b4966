"""Hashes of files and folders as docs/architecture.md defines them, for ``hash`` and ``verify``."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from inferenceversion_operator.cli.errors import ExitCode, UserError

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip")
_PREFIX = "sha256:"


def read_files(path: Path) -> dict[str, str]:
    """Return path -> hex sha256 of every file of a folder; of a single file its own under its name.

    Raises:
        UserError: it can't be read, is an archive, or holds what has no hash (links, pipes, devices).
    """
    try:
        if path.is_dir():
            return {name: _hash_file(path / name) for name in _regular_files(path)}
        if path.name.lower().endswith(_ARCHIVES):
            raise UserError(f"{path} is an archive, and its hash is that of what is inside: unpack it, name the folder")
        return {path.name: _hash_file(path)}
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}", ExitCode.USAGE) from error


def hash_of(files: Mapping[str, str]) -> str:
    """Return the hash of a folder with these files."""
    whole = hashlib.sha256()
    for name in sorted(files, key=os.fsencode):
        whole.update(files[name].encode() + b"  " + os.fsencode(name) + b"\n")
    return _PREFIX + whole.hexdigest()


def hash_of_part(files: Mapping[str, str], path: str) -> str | None:
    """Return the hash of the folder or file ``path`` in the tree; None where there is no such."""
    if path in files:
        return _PREFIX + files[path]
    below = {name.removeprefix(f"{path}/"): digest for name, digest in files.items() if name.startswith(f"{path}/")}
    return hash_of(below) if below else None


def hash_of_weights(files: Mapping[str, str], parts: tuple[str, ...], *, single: bool) -> str:
    """Return ``weightHash``: of all files that no part covers; of a single file its own.

    Args:
        files: path -> hex sha256.
        parts: paths of the parts that have a hash of their own.
        single: the source is one file.
    """
    if single and not parts:
        (digest,) = files.values()
        return _PREFIX + digest
    covered = [name for name in files if any(name == part or name.startswith(f"{part}/") for part in parts)]
    return hash_of({name: digest for name, digest in files.items() if name not in set(covered)})


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _regular_files(root: Path, folder: str = "") -> Iterator[str]:
    with os.scandir(root / folder) as entries:
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _regular_files(root, name)
            elif entry.is_file(follow_symlinks=False):
                yield name
            else:
                raise UserError(
                    f"{root / name} is neither a regular file nor a folder (a link?): fetch would refuse it"
                )
