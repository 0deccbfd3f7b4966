"""Which of two versions is the higher one: precedence of SemVer 2.0, by the ``semver`` library."""

from semver import Version


def precedence(version: str) -> Version:
    """Return a key to sort by; versions that differ in build metadata alone are equal.

    >>> precedence("1.0.0-rc.1") < precedence("1.0.0")
    True

    Raises:
        ValueError: it is not SemVer 2.0.
    """
    return Version.parse(version)


def is_semver(text: str) -> bool:
    """Say whether the text is a version of SemVer 2.0."""
    return Version.is_valid(text)


def is_prerelease(version: str) -> bool:
    """Say whether the version is one before its release, such as 2.5.0-rc.1."""
    return Version.parse(version).prerelease is not None
