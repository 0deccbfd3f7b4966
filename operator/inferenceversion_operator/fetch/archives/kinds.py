"""Which archive a source is, by its name."""

from enum import StrEnum
from urllib.parse import urlsplit


class Kind(StrEnum):
    TAR = ".tar"
    TAR_GZ = ".tar.gz"
    TGZ = ".tgz"
    TAR_ZST = ".tar.zst"
    ZIP = ".zip"


def kind_of(source: str) -> Kind | None:
    """Return which archive a URL or a path names, None for a file that is taken as it is."""
    path = urlsplit(source).path.lower()
    return next((kind for kind in Kind if path.endswith(kind)), None)
