"""Which archive a source is, by its name; its hashes are those of what is inside."""

from enum import StrEnum


class Kind(StrEnum):
    TAR = ".tar"
    TAR_GZ = ".tar.gz"
    TGZ = ".tgz"
    TAR_ZST = ".tar.zst"
    ZIP = ".zip"


def kind_of(source: str) -> Kind | None:
    """Return which archive a URL or a path names, None for a file that is taken as it is."""
    rest = source.lower().partition("://")[2] or source.lower()
    path = rest.partition("#")[0].partition("?")[0].partition("/")[2]
    return next((kind for kind in Kind if path.endswith(kind)), None)
