r"""The content hash of a file or folder, as the whole project computes it.

This is a copy on purpose: the image must check its own parts without the operator's
package. The contract, in shell, for a folder ``DIR``::

    cd DIR && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum -- | sha256sum

and for a single file the plain sha256 of its bytes. The text form is ``sha256:<64 hex>``.
"""

import hashlib
from collections.abc import Collection
from pathlib import Path

PREFIX = "sha256:"
_CHUNK_BYTES = 1 << 20


def file_digest(path: Path) -> str:
    """Return the sha256 of one file as 64 lower-case hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def content_hash(path: Path, *, without: Collection[str] = ()) -> str:
    """Return ``sha256:<hex>`` of a file, or of every regular file below a folder.

    ``without`` names top-level subfolders to leave out. Symbolic links are not regular
    files and do not count, as with ``find -type f``.

    Raises:
        FileNotFoundError: there is nothing at ``path``.
    """
    if path.is_file():
        return PREFIX + file_digest(path)
    if not path.is_dir():
        raise FileNotFoundError(f"nothing to hash at {path}")
    lines = []
    for entry in path.rglob("*"):
        relative = entry.relative_to(path)
        if entry.is_symlink() or not entry.is_file() or relative.parts[0] in without:
            continue
        lines.append((relative.as_posix().encode(), file_digest(entry).encode()))
    text = b"".join(digest + b"  " + name + b"\n" for name, digest in sorted(lines))
    return PREFIX + hashlib.sha256(text).hexdigest()
