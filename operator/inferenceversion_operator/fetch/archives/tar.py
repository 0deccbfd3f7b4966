"""Tar as a stream: regular files and folders, nothing else, and no header that costs memory."""

import tarfile
from collections.abc import Iterator
from typing import IO, cast

from inferenceversion_operator.fetch.errors import invalid, shown
from inferenceversion_operator.fetch.tree import Tree

_CHUNK = 1 << 20
# Long names and PAX records are read whole by tarfile: more than this for one member is an attack.
_HEADER_BYTES = 1 << 20
_KINDS = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


def extract_tar(stream: IO[bytes], tree: Tree) -> None:
    """Unpack ``stream`` into ``tree``, one member after the other."""
    reader = _Forward(stream)
    archive = tarfile.TarFile(fileobj=cast("IO[bytes]", reader), mode="r", encoding="utf-8", errors="surrogateescape")
    while True:
        reader.begin_header()
        member = archive.next()
        archive.members.clear()  # type: ignore[attr-defined] # tarfile keeps them all; an archive may have very many
        if member is None:
            return
        _extract_member(member, reader, tree)


def _extract_member(member: tarfile.TarInfo, reader: "_Forward", tree: Tree) -> None:
    if member.isdir():
        tree.add_folder(member.name)
        return
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.sparse is not None:
        kind = _KINDS.get(member.type, "a sparse file" if member.sparse is not None else "of an unknown kind")
        raise invalid(f"member '{shown(member.name)}' is {kind}; only regular files and folders are taken")
    if member.size < 0:
        raise invalid(f"member '{shown(member.name)}' has a negative size")
    tree.add(member.name, reader.content(member.size), executable=bool(member.mode & 0o111))


class _Forward:
    """What tarfile needs of a file, over a stream that can't go back: headers within a budget, contents in chunks."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._position = 0
        self._budget = _HEADER_BYTES

    def begin_header(self) -> None:
        self._budget = _HEADER_BYTES

    def read(self, count: int) -> bytes:
        self._budget -= count
        if count < 0 or self._budget < 0:
            raise invalid("the archive has a header of more than 1 MiB")
        data = self._stream.read(count)
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        if position < self._position:
            raise invalid("the archive has a header that points backwards")
        self.read(position - self._position)

    def content(self, size: int) -> Iterator[bytes]:
        left = size
        while left:
            data = self._stream.read(min(left, _CHUNK))
            if not data:
                raise invalid("the archive ends in the middle of a member")
            self._position += len(data)
            left -= len(data)
            yield data
