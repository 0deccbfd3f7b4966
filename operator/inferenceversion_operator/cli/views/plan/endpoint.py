"""One endpoint: what the operator decides now, and what it would decide once the manifests are applied."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.cli.views.candidate import place, view_candidate
from inferenceversion_operator.cli.views.plan.objects import ObjectChange, changed_objects
from inferenceversion_operator.cli.views.release import at_once, steps_of
from inferenceversion_operator.core.conditions import find
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.core.plan import Plan
from inferenceversion_operator.core.rollout.choose import choose_version
from inferenceversion_operator.core.snapshot import Broken, Settings, Snapshot
from inferenceversion_operator.outcome import Stalled

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RoleChange:
    version: str
    before: str | None  # None: it is not there
    after: str


@dataclass(frozen=True, slots=True)
class EndpointPlan:
    """What would become of an endpoint.

    Attributes:
        stable: what serves now.
        wanted_before: which version is wanted now, and after; None: none.
        release: how the version that is wanted then is released, step by step; empty where nothing is.
        why_at_once: why it goes through no steps, where it does not.
        ends: what ends by it: a release that is superseded, or given up.
        held: what keeps what is wanted from being released.
        roles: of versions, in the first moment.
        objects: children, in the first moment; the steps change them later.
    """

    namespace: str
    name: str
    is_new: bool
    stable: str | None
    wanted_before: str | None
    wanted_after: str | None
    release: tuple[str, ...] = ()
    why_at_once: str | None = None
    ends: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    roles: tuple[RoleChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.is_new or self.ends or self.roles or self.objects or self.wanted_before != self.wanted_after)


@dataclass(frozen=True, slots=True)
class Scene:
    """The objects of one endpoint."""

    endpoint: Object | None
    versions: Sequence[Object]
    children: Sequence[Object] = ()


def plan_endpoint(key: tuple[str, str], before: Scene, after: Scene, settings: Settings, now: datetime) -> EndpointPlan:
    """Compare what the operator decides now with what it would decide.

    Args:
        key: namespace and name of the endpoint.
        before: what is on the cluster.
        after: the same with the manifests applied.
    """
    seen, then = (_snapshot(key, scene, settings) for scene in (before, after))
    now_plan = decide(seen, now) if seen.endpoint else Plan()
    then_plan = decide(then, now)
    wanted = _wanted(then)
    status = then_plan.endpoint_status.status if then_plan.endpoint_status else {}
    stable = (before.endpoint or {}).get("status", {}).get("stable")
    released = wanted is not None and wanted.version != stable
    why = at_once(wanted, _history(before), stable) if wanted and released else None
    return EndpointPlan(
        namespace=key[0],
        name=key[1],
        is_new=before.endpoint is None,
        stable=stable,
        wanted_before=_version(_wanted(seen)),
        wanted_after=_version(wanted),
        release=(("100 %",) if why else steps_of(wanted)) if wanted and released else (),
        why_at_once=why,
        ends=tuple(_ends(before, now_plan, then_plan)),
        held=tuple(_held(key[1], then, status)),
        duplicates=tuple(_duplicates(then)),
        roles=tuple(_roles(now_plan, then_plan, then)),
        objects=changed_objects(now_plan, then_plan, before.children),
    )


def _snapshot(key: tuple[str, str], scene: Scene, settings: Settings) -> Snapshot:
    versions, broken = [], []
    for obj in scene.versions:
        try:
            versions.append(parse_version(obj))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            meta = obj["metadata"]
            broken.append(Broken(key[0], meta["name"], meta.get("generation", 1), str(error), obj.get("status") or {}))
    children = [obj for obj in scene.children if obj["kind"] != "Pod"]
    endpoint = parse_endpoint(scene.endpoint) if scene.endpoint else None
    if endpoint is None and versions:  # the operator makes it
        endpoint = InferenceEndpoint(*key, uid="", generation=1, managed=True)
    return Snapshot(
        *key,
        settings,
        endpoint=replace(endpoint, namespace=key[0]) if endpoint else None,
        versions=tuple(sorted(versions, key=lambda v: v.name)),
        broken=tuple(broken),
        objects=tuple(children),
        pods=tuple(obj for obj in scene.children if obj["kind"] == "Pod"),
    )


def _wanted(seen: Snapshot) -> InferenceVersion | None:
    try:
        return choose_version(seen)
    except Stalled:
        return None


def _version(version: InferenceVersion | None) -> str | None:
    return version.version if version else None


def _history(scene: Scene) -> list[Object]:
    return list(((scene.endpoint or {}).get("status") or {}).get("history") or [])


def _ends(before: Scene, now_plan: Plan, then_plan: Plan) -> Iterator[str]:
    """Yield the outcomes that the second decision has and the first has not."""
    known = [*_history(before), *_outcomes(now_plan)]
    candidate = view_candidate(((before.endpoint or {}).get("status") or {}).get("candidate"), before.versions)
    for entry in _outcomes(then_plan):
        if not any(_same(entry, other) for other in known):
            where = f" ({place(candidate)})" if candidate and candidate.version == entry["version"] else ""
            yield f"version {entry['version']}{where}: {entry['outcome']}: {entry.get('message', '')}".rstrip(": ")


def _outcomes(plan: Plan) -> list[Object]:
    return list(plan.endpoint_status.status.get("history", ())) if plan.endpoint_status else []


def _same(a: Object, b: Object) -> bool:
    return all(a.get(key) == b.get(key) for key in ("version", "outcome", "since", "reason"))


def _held(endpoint: str, then: Snapshot, status: Object) -> Iterator[str]:
    stalled = find(status.get("conditions"), "Stalled")
    if stalled:
        yield f"{stalled['reason']}: {stalled['message']}"
    view = then.endpoint
    if view is None:
        return
    free = _wanted(replace(then, endpoint=replace(view, pin=None)))
    if view.pin and free and free.version != view.pin:
        yield f"{free.version} is held back by the pin to {view.pin}: kubectl iv unpin {endpoint}"
    wanted = _wanted(then)
    if view.paused and wanted and wanted.version != status.get("stable") and not status.get("candidate"):
        yield f"{wanted.version} is held back: the endpoint is paused (kubectl iv resume {endpoint})"


def _duplicates(then: Snapshot) -> Iterator[str]:
    accepted = {version.name for version in then.accepted()}
    for version in then.versions:
        if version.name not in accepted and not version.deleting:
            yield version.name


def _roles(now_plan: Plan, then_plan: Plan, then: Snapshot) -> Iterator[RoleChange]:
    old = {status.ref.name: str(status.status.get("role")) for status in now_plan.version_statuses}
    versions = {version.name: version.version for version in then.versions}
    for status in then_plan.version_statuses:
        name, role = status.ref.name, str(status.status.get("role"))
        if old.get(name) != role and name in versions:
            yield RoleChange(versions[name], old.get(name), role)


def endpoints_of(objects: Iterable[Object]) -> set[tuple[str, str]]:
    """Return namespace and name of every endpoint that these objects are, or belong to."""
    found = set()
    for obj in objects:
        namespace, spec = obj["metadata"]["namespace"], obj.get("spec") or {}
        found.add((namespace, spec["endpoint"] if obj["kind"] == "InferenceVersion" else obj["metadata"]["name"]))
    return found
