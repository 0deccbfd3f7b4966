"""Moving an endpoint to another version: what would happen, and what speaks against it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.semver import is_semver
from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.views.candidate import place
from inferenceversion_operator.cli.views.release import how_released, served
from inferenceversion_operator.cli.views.status import EndpointView, State, VersionView, view_endpoint
from inferenceversion_operator.core.rollout.choose import once_stable

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Move:
    """A change of the pin.

    Attributes:
        impossible: why the version can never serve here; nobody can insist.
        refusals: what speaks against it; whoever knows better may insist.
        notes: what is good to know.
        nothing_to_do: the endpoint is pinned to the version, and it serves.
    """

    endpoint: str
    namespace: str
    to: str
    from_stable: str | None
    from_pin: str | None
    ready_replicas: int
    served_before: bool
    nothing_to_do: bool
    impossible: tuple[str, ...]
    refusals: tuple[str, ...]
    notes: tuple[str, ...]


def plan_rollback(endpoint: Object, versions: Sequence[Object], wanted: str) -> Move:
    """Say what pinning the endpoint to a version means.

    Args:
        endpoint: the InferenceEndpoint.
        versions: its InferenceVersions.
        wanted: the version, or the name of the InferenceVersion.
    """
    view = view_endpoint(endpoint, versions)
    target = _find(view, wanted)
    to = target.version if target else wanted
    obj = _object_of(versions, target)
    before = target is not None and served(obj, endpoint)
    return Move(
        endpoint=view.name,
        namespace=view.namespace,
        to=to,
        from_stable=view.stable,
        from_pin=view.pin,
        ready_replicas=target.ready_replicas if target else 0,
        served_before=before,
        nothing_to_do=view.stable == to == view.pin,
        impossible=tuple(_impossible(view, target, wanted, obj)),
        refusals=tuple(_refusals(target)),
        notes=tuple(_notes(view, target, obj, before=before, warm=_warm(endpoint))),
    )


def previous_version(endpoint: Object, versions: Sequence[Object]) -> str:
    """Return the version that was stable before the one that is: the newest in the history that still exists.

    Raises:
        UserError: there was none.
    """
    view = view_endpoint(endpoint, [v for v in versions if not v["metadata"].get("deletionTimestamp")])
    there = {version.version: version for version in view.versions}
    mine = {version.version: _object_of(versions, version) for version in view.versions}
    for version in once_stable((endpoint.get("status") or {}).get("history") or ()):
        stands = version in there and there[version].role != "Failed" and served(mine[version], endpoint)
        if version != view.stable and stands:
            return version
    raise UserError(
        f"endpoint {view.name} has no earlier version to go back to: its history names none that still exists "
        f"(versions: {_known(view)})"
    )


def sentences(move: Move) -> list[str]:
    """Return the move in words."""
    pin = f"the pin goes from {move.from_pin} to {move.to}" if move.from_pin else f"the pin is set to {move.to}"
    lines = [
        f"endpoint {move.namespace}/{move.endpoint}: {pin}",
        f"requests move from {move.from_stable or 'nothing'} to {move.to}",
    ]
    if move.from_stable == move.to:
        lines[1] = f"requests stay on {move.to}"
    return [*lines, *move.notes]


def _find(view: EndpointView, wanted: str) -> VersionView | None:
    """Return the version by its number, else by the name of its object; of two with one number the accepted one."""
    same = [version for version in view.versions if version.version == wanted]
    same.sort(key=lambda version: version.reason == "DuplicateVersion")
    named = [version for version in view.versions if version.name == wanted]
    return next(iter([*same, *named]), None)


def _object_of(versions: Iterable[Object], target: VersionView | None) -> Object:
    return next((v for v in versions if target and v["metadata"]["name"] == target.name), {"metadata": {}})


def _warm(endpoint: Object) -> int:
    return int(((endpoint.get("spec") or {}).get("retention") or {}).get("warm", 1))


def _impossible(view: EndpointView, target: VersionView | None, wanted: str, obj: Object) -> Iterable[str]:
    if target is None:
        if not is_semver(wanted):
            yield f"{wanted} is neither a version nor an InferenceVersion of endpoint {view.name}: {_known(view)}"
        else:
            yield f"endpoint {view.name} has no version {wanted}: {_known(view)}"
    elif obj["metadata"].get("deletionTimestamp"):
        yield f"version {target.version} is being deleted"
    elif target.reason in ("DuplicateVersion", "Unreadable"):
        yield f"version {target.version} can't serve: {target.message}"


def _refusals(target: VersionView | None) -> Iterable[str]:
    if target is None or target.reason in ("DuplicateVersion", "Unreadable"):
        return
    if target.role == "Failed" or target.reason == "ReleaseFailed":
        yield f"version {target.version} failed: {target.message}"
    elif target.state is State.FAILED and target.ready_replicas == 0:
        yield f"version {target.version} can't become Ready: {target.reason}: {target.message}"


def _notes(view: EndpointView, target: VersionView | None, obj: Object, *, before: bool, warm: int) -> Iterable[str]:
    if target is None:
        return
    if view.stable == target.version:
        pass
    elif target.ready_replicas:
        then = ": traffic moves at once" if before else ""
        yield f"version {target.version} is warm ({target.ready_replicas} ready){then}"
    else:
        meanwhile = f"; {view.stable} serves meanwhile" if view.stable else ""
        yield f"version {target.version} has no ready replica: it is started first{meanwhile}"
    if view.stable and not before and view.stable != target.version:
        yield f"version {target.version} was never stable here: it is released like a new one, {how_released(obj)}"
        if view.paused:
            yield f"the endpoint is paused: nothing moves until kubectl iv resume {view.name}"
    if view.candidate and view.candidate.version != target.version:
        yield f"the release of {view.candidate.version} ends ({place(view.candidate)})"
    if view.stable and view.stable != target.version:
        then = f"stays warm (retention.warm: {warm})" if warm else "is scaled to zero (retention.warm: 0)"
        yield f"version {view.stable} {then}"


def _known(view: EndpointView) -> str:
    return f"there are {', '.join(version.version for version in view.versions) or 'none'}"
