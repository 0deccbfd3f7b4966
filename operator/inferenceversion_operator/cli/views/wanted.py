"""Which version is wanted, by the operator's own rule, and what keeps it back."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.cli.views.release import how_released, served
from inferenceversion_operator.core.rollout.choose import choose_version
from inferenceversion_operator.core.snapshot import Settings, Snapshot
from inferenceversion_operator.outcome import Stalled

Object = Mapping[str, Any]


def wanted_version(endpoint: Object, versions: Iterable[Object]) -> str | None:
    """Return the version that the operator wants; None where there is none, or the pin names none that exists."""
    return _choose(parse_endpoint(endpoint), versions)


def wanted_without_pin(endpoint: Object, versions: Iterable[Object]) -> str | None:
    """Return the version that the operator would choose; None where there is none to choose."""
    return _choose(replace(parse_endpoint(endpoint), pin=None), versions)


def comes_after(endpoint: Object, versions: Iterable[Object], failed: str) -> tuple[str, ...]:
    """Say which version takes over from stable if the release of ``failed`` ends; nothing where stable stays.

    The highest that has not failed may be one that somebody went back from: it needs no steps to be stable again.
    """
    spec, stable = endpoint.get("spec") or {}, (endpoint.get("status") or {}).get("stable")
    if spec.get("version") or spec.get("paused"):
        return ()
    others = [version for version in versions if _number(version) != failed]
    then = _choose(parse_endpoint(endpoint), others)
    if then is None or then == stable:
        return ()
    stay = f"; to stay on {stable}: kubectl iv rollback {endpoint['metadata']['name']} {stable}" if stable else ""
    return (f"then {then} is wanted: {takes_over(endpoint, others, then)}{stay}",)


def takes_over(endpoint: Object, versions: Iterable[Object], wanted: str) -> str:
    """Say how a version that is wanted takes over from the one that serves."""
    found = next(version for version in versions if _number(version) == wanted)
    if served(found, endpoint):
        return "it was stable before, so it takes over at once and no gate is asked"
    return f"it is released {how_released(found)}"


def held_back(endpoint: Object, versions: Iterable[Object]) -> dict[str, str]:
    """Return what keeps a version back that would be released otherwise, by version: a pin or a pause."""
    spec, status = endpoint.get("spec") or {}, endpoint.get("status") or {}
    if not (spec.get("version") or spec.get("paused")):  # the usual case reads no version
        return {}
    name, stable, held = endpoint["metadata"]["name"], status.get("stable"), {}
    view, there = parse_endpoint(endpoint), tuple(versions)
    free = _choose(replace(view, pin=None), there)
    if view.pin and free and free not in (view.pin, stable):
        held[free] = f"held back: the endpoint is pinned to {view.pin} (kubectl iv unpin {name})"
    wanted = _choose(view, there)
    under_way = (status.get("candidate") or {}).get("version")
    back = view.pin == wanted and any(_number(v) == wanted and served(v, endpoint) for v in there)
    if view.paused and wanted and wanted not in (stable, under_way) and not back:
        held[wanted] = f"held back: the endpoint is paused (kubectl iv resume {name})"
    return held


def _choose(endpoint: InferenceEndpoint, versions: Iterable[Object]) -> str | None:
    read = tuple(version for version in map(_parse, versions) if version)
    seen = Snapshot(endpoint.namespace, endpoint.name, Settings("", ""), endpoint=endpoint, versions=read)
    try:
        chosen = choose_version(seen)
    except Stalled:
        return None
    return chosen.version if chosen else None


def _number(version: Object) -> Any:
    return (version.get("spec") or {}).get("version")


def _parse(version: Object) -> InferenceVersion | None:
    """Return the version; None where the operator can't read it either (an older schema let it in)."""
    try:
        return parse_version(version)
    except (KeyError, TypeError, ValueError):
        return None
