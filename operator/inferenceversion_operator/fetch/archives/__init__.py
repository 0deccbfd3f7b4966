"""Archives as sources: unpacked as a stream where the format allows it (a zip's index is at its end)."""

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from backports import zstd

from inferenceversion_operator.api.archive import Kind
from inferenceversion_operator.fetch.archives.tar import extract_tar
from inferenceversion_operator.fetch.archives.zip import extract_zip
from inferenceversion_operator.fetch.errors import FetchError, invalid
from inferenceversion_operator.fetch.tree import Tree

_READ = 1 << 20
# Refuse frames that want a window above 128 MiB (what `zstd -d` takes without --long): they are memory bombs.
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}


def extract(kind: Kind, chunks: Iterator[bytes], tree: Tree, scratch: Path) -> None:
    """Unpack the archive that ``chunks`` yield into ``tree``.

    Raises:
        FetchError: SourceInvalid names the member that may not be; SourceTooLarge where a limit is met.
    """
    stream = io.BufferedReader(_Chunks(chunks), _READ)
    try:
        if kind is Kind.ZIP:
            extract_zip(stream, tree, scratch)
        elif kind is Kind.TAR:
            extract_tar(stream, tree)
        elif kind is Kind.TAR_ZST:
            with zstd.ZstdFile(stream, options=_ZSTD_OPTIONS) as unpacked:
                extract_tar(_binary(unpacked), tree)
        else:
            with gzip.GzipFile(fileobj=stream, mode="rb") as unpacked:
                extract_tar(_binary(unpacked), tree)
    except FetchError:
        raise
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, zstd.ZstdError, EOFError) as error:
        raise invalid(f"the archive can't be read as {kind}: {type(error).__name__}") from error


def _binary(stream: "gzip.GzipFile | zstd.ZstdFile") -> IO[bytes]:
    return io.BufferedReader(stream, _READ)


class _Chunks(io.RawIOBase):
    """Chunks as a file to read from, once and forward; errors of the source pass through it."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # what BufferedReader passes
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
