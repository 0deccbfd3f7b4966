"""Who is what: stable, candidate, warm, retired, failed or idle; pure function of endpoint status and choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.types import InferenceVersion, Role
from inferenceversion_operator.core.rollout.choose import has_failed, once_stable, served_before
from inferenceversion_operator.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Cast:
    """The parts that the versions of one endpoint play."""

    stable: InferenceVersion | None
    candidate: InferenceVersion | None
    roles: Mapping[str, Role]  # by the name of the InferenceVersion

    def running(self, versions: tuple[InferenceVersion, ...]) -> tuple[InferenceVersion, ...]:
        """Return the versions that hold capacity."""
        keep = (Role.STABLE, Role.CANDIDATE, Role.WARM)
        return tuple(v for v in versions if self.roles.get(v.name) in keep)


def assign_roles(
    seen: Snapshot,
    stable: InferenceVersion | None,
    candidate: InferenceVersion | None,
    history: Sequence[Mapping[str, Any]],
    failed: frozenset[str],
) -> Cast:
    """Give each accepted version its role.

    Args:
        history: how releases ended, the newest first.
        failed: names of InferenceVersions whose release failed in this very decision.
    """
    endpoint = seen.endpoint
    warm = endpoint.warm if endpoint else 0
    kept = endpoint.history if endpoint else 0
    before = _once_stable(seen, history, stable, candidate)
    ranks = {version.name: rank for rank, version in enumerate(before)}
    roles: dict[str, Role] = {}
    for version in seen.accepted():
        rank = ranks.get(version.name)
        if stable and version.name == stable.name:
            roles[version.name] = Role.STABLE
        elif candidate and version.name == candidate.name:
            roles[version.name] = Role.CANDIDATE
        elif version.name in failed or has_failed(version):
            roles[version.name] = Role.FAILED
        elif rank is None:
            roles[version.name] = Role.IDLE
        elif rank < warm:
            roles[version.name] = Role.WARM
        else:
            roles[version.name] = Role.RETIRED if rank < kept else Role.IDLE
    return Cast(stable, candidate, roles)


def _once_stable(
    seen: Snapshot,
    history: Sequence[Mapping[str, Any]],
    stable: InferenceVersion | None,
    candidate: InferenceVersion | None,
) -> list[InferenceVersion]:
    """Return the versions that were stable and still exist, the most recent first, those that play now left out."""
    playing = {v.name for v in (stable, candidate) if v}
    found = [seen.version(text) for text in dict.fromkeys(once_stable(history))]
    return [v for v in found if v and v.name not in playing and not has_failed(v) and served_before(history, v)]
