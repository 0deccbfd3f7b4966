"""Which version is wanted: a pure function of the set, the pin and what has failed."""

from collections.abc import Iterable, Mapping
from typing import Any

from inferenceversion_operator.api.semver import is_prerelease, precedence
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.conditions import find
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.outcome import Stalled


def choose_version(seen: Snapshot) -> InferenceVersion | None:
    """Return the pinned version, else the highest release that has not failed; None where there is no version.

    A pre-release is wanted where it is pinned, or while there is no release: nobody who applies 2.5.0-rc.1 to try it
    wants it to take over from 2.4.2.

    Raises:
        Stalled: the pin names a version that does not exist; what serves keeps serving.
    """
    pin = seen.endpoint.pin if seen.endpoint else None
    if pin is not None:
        pinned = seen.version(pin)
        if pinned is None:
            known = ", ".join(v.version for v in by_precedence(seen)[:5]) or "none"
            raise Stalled(
                "VersionNotFound",
                f"spec.version pins {pin}, which no InferenceVersion of endpoint {seen.name} has (newest: {known}): "
                "apply that version or change the pin; traffic stays where it is",
            )
        return pinned
    candidates = [version for version in by_precedence(seen) if not has_failed(version)]
    releases = [version for version in candidates if not is_prerelease(version.version)]
    highest = next(iter(releases or candidates), None)
    return _unless_left(seen, highest) if highest else None


def left_behind(seen: Snapshot, version: InferenceVersion) -> bool:
    """Say whether a version was stable, does not serve any more, and a higher one has failed since.

    A rollback left it for a reason, and the failure of its fix is none to go back to it without a gate.
    """
    status = seen.endpoint.status if seen.endpoint else {}
    if status.get("stable") == version.version or not served_before(status.get("history", ()), version):
        return False
    mine = precedence(version.version)
    return any(has_failed(other) and precedence(other.version) > mine for other in seen.accepted())


def _unless_left(seen: Snapshot, highest: InferenceVersion) -> InferenceVersion:
    stable = seen.version(seen.endpoint.status.get("stable")) if seen.endpoint else None
    return stable if stable and left_behind(seen, highest) else highest


def by_precedence(seen: Snapshot) -> list[InferenceVersion]:
    """Return the accepted versions, the highest SemVer first; equal precedence (build metadata): the newest first."""
    return sorted(seen.accepted(), key=lambda v: (precedence(v.version), v.created, v.name), reverse=True)


def has_failed(version: InferenceVersion) -> bool:
    """Say whether a release of this version ended as Failed; it is not tried again unless it is pinned."""
    failed = find(version.status.get("conditions"), "Failed")
    return failed is not None and failed["status"] == "True"


def served_before(history: Iterable[Mapping[str, Any]], version: InferenceVersion) -> bool:
    """Say whether this very snapshot was stable: one that was deleted and made anew from other parts was not."""
    return any(
        entry.get("outcome") == "Promoted"
        and entry["version"] == version.version
        and entry.get("digest", version.digest) == version.digest
        for entry in history
    )


def once_stable(history: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the versions of the history that were stable, the newest first."""
    return tuple(entry["version"] for entry in history if entry.get("outcome") == "Promoted")
