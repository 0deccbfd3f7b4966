"""Zip: its index is at the end, so the archive is stored first and unpacked from disk."""

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from inferenceversion_operator.fetch.errors import invalid, shown, too_large
from inferenceversion_operator.fetch.tree import Tree

_CHUNK = 1 << 20
# zipfile reads the index whole: 100,000 files with names of average length fit.
_INDEX_BYTES = 32 << 20
_UNIX = 3
_LOCAL_HEADER = 30


def extract_zip(stream: IO[bytes], tree: Tree, scratch: Path) -> None:
    """Store ``stream`` in the file ``scratch``, unpack it into ``tree`` and remove ``scratch``."""
    with scratch.open("wb") as stored:
        while data := stream.read(_CHUNK):
            stored.write(data)
    with scratch.open("rb") as stored:
        archive = zipfile.ZipFile(cast("IO[bytes]", _Capped(stored)))
        members = archive.infolist()
        if len(members) > 2 * tree.budget.limits.max_files:
            raise too_large(f"the archive has {len(members)} members")
        _check_overlap(members)
        for member in members:
            _extract_member(archive, member, tree)
    scratch.unlink()


def _extract_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, tree: Tree) -> None:
    mode = member.external_attr >> 16 if member.create_system == _UNIX else 0
    why = _objection(member, mode)
    if why:
        raise invalid(f"member '{shown(member.orig_filename)}' {why}")
    if member.is_dir():
        tree.add_folder(member.filename)
        return
    tree.add(member.filename, _content(archive, member), executable=bool(mode & 0o111))


def _objection(member: zipfile.ZipInfo, mode: int) -> str | None:
    if member.orig_filename != member.filename:
        return "has a NUL in its name"
    if stat.S_IFMT(mode) == stat.S_IFLNK:
        return "is a symbolic link; only regular files and folders are taken"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a device or pipe; only regular files and folders are taken"
    if member.flag_bits & 0x1:
        return "is encrypted"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed by a method other than stored or deflate"
    return None


def _check_overlap(members: list[zipfile.ZipInfo]) -> None:
    """Refuse members that share their bytes: that is how a small zip becomes petabytes."""
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < end:
            raise invalid(f"member '{shown(member.filename)}' overlaps with another")
        end = member.header_offset + _LOCAL_HEADER + len(member.orig_filename) + member.compress_size


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(member) as file:
            while data := file.read(_CHUNK):
                yield data
    except (NotImplementedError, RuntimeError) as error:  # how zipfile says that it can't
        raise invalid(f"member '{shown(member.filename)}' can't be unpacked: {type(error).__name__}") from error


class _Capped:
    """A file that refuses to be read in one piece: the size of the index is the archive's own claim."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seekable = file.seekable
        self.seek = file.seek
        self.tell = file.tell
        self.close = file.close

    def read(self, count: int = -1) -> bytes:
        data = self._file.read(_INDEX_BYTES + 1 if count < 0 else min(count, _INDEX_BYTES + 1))
        if len(data) > _INDEX_BYTES:
            raise too_large("the index of the zip archive has more than 32 MiB")
        return data
