"""The objects that a cast of versions needs, and those that it no longer needs."""

from collections.abc import Iterable

from inferenceversion_operator.api.labels import API_VERSION
from inferenceversion_operator.api.names import differ_name, sticky_name, version_name
from inferenceversion_operator.api.types import InferenceVersion, Role
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.objects.config_map import make_config_map
from inferenceversion_operator.core.objects.deployment import make_deployment
from inferenceversion_operator.core.objects.differ import make_differ
from inferenceversion_operator.core.objects.pod_disruption_budget import make_pod_disruption_budget
from inferenceversion_operator.core.objects.route import ROUTE_KINDS, Split, has_gateway, make_route
from inferenceversion_operator.core.objects.service import make_endpoint_service, make_version_service
from inferenceversion_operator.core.objects.sticky import make_sticky_route
from inferenceversion_operator.core.plan import Object, Ref
from inferenceversion_operator.core.rollout.gateway import differ_is_ready, has_taken
from inferenceversion_operator.core.rollout.readiness import is_ready, replicas_needed
from inferenceversion_operator.core.rollout.release import Release
from inferenceversion_operator.core.rollout.roles import Cast
from inferenceversion_operator.core.snapshot import Object as Seen
from inferenceversion_operator.core.snapshot import Snapshot


def make_capacity(seen: Snapshot, cast: Cast) -> list[Object]:
    """Return the children of every version that runs, and of those that rest at zero replicas."""
    objects: list[Object] = []
    for version in seen.accepted():
        role = cast.roles[version.name]
        if role in (Role.STABLE, Role.CANDIDATE, Role.WARM):
            objects += make_children(version, replicas_needed(version), seen)
        elif role in (Role.RETIRED, Role.FAILED) and seen.find("Deployment", version_name(version.name)):
            objects += make_children(version, 0, seen)
    return objects


def make_children(version: InferenceVersion, replicas: int, seen: Snapshot) -> list[Object]:
    """Return the children of one version; the ConfigMap first, since pods wait for it."""
    config_map = make_config_map(version)
    return [
        config_map,
        make_deployment(version, replicas, config_map["metadata"]["name"], seen.settings),
        make_version_service(version),
        make_pod_disruption_budget(version),
    ]


def make_comparison(seen: Snapshot, release: Release) -> list[Object]:
    """Return the differ, while a candidate is in the shadow."""
    attempt, stable = release.attempt, release.stable
    if seen.endpoint is None or stable is None or attempt is None or attempt.phase is not Phase.SHADOW:
        return []
    return make_differ(seen.endpoint, stable, attempt.candidate, seen.settings)


def make_traffic(seen: Snapshot, cast: Cast, release: Release) -> tuple[Object, ...]:
    """Return what leads requests to the versions; nothing while no version serves."""
    endpoint, stable = seen.endpoint, cast.stable
    if endpoint is None or stable is None:
        return ()
    objects = [make_endpoint_service(endpoint, stable)]
    if not has_gateway(seen):
        return tuple(objects)
    named = [v for v in cast.running(tuple(seen.accepted())) if v.name == stable.name or is_ready(seen, v)]
    kinds = [kind for kind in ROUTE_KINDS if kind in seen.settings.route_kinds]
    split = Split(release.weights(), _mirror(seen, release))
    objects += [make_route(kind, endpoint, split, named, seen.settings) for kind in kinds]
    for kind in kinds:
        header = _sticky_header(seen, kind, release)
        if header:
            objects.append(make_sticky_route(kind, endpoint, split, header, seen.settings))
    return tuple(objects)


def _mirror(seen: Snapshot, release: Release) -> tuple[str, int] | None:
    attempt = release.attempt
    if seen.endpoint is None or attempt is None or attempt.phase is not Phase.SHADOW or not differ_is_ready(seen):
        return None
    return differ_name(seen.endpoint.name), attempt.candidate.traffic.shadow.percent


def _sticky_header(seen: Snapshot, kind: str, release: Release) -> str | None:
    """Return the header that sessions are split by; after the canary until the Gateway leads them all to stable."""
    attempt = release.attempt
    if attempt and attempt.phase is Phase.CANARY:
        return attempt.candidate.traffic.canary.sticky_header
    live = seen.find(kind, sticky_name(seen.name))
    if live is None or release.stable is None:
        return None
    rules = live["spec"].get("rules") or ()
    leads_to = {backend.get("name") for rule in rules for backend in rule.get("backendRefs", ())}
    settled = len(rules) == 1 and leads_to == {version_name(release.stable.name)} and has_taken(live)
    headers = (header for rule in rules for match in rule.get("matches", ()) for header in match.get("headers", ()))
    return None if settled else next((str(header["name"]) for header in headers), None)


def split_by_direction(seen: Snapshot, objects: Iterable[Object]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Split into what adds or keeps capacity and the Deployments that shrink: those wait until traffic has moved."""
    growing: list[Object] = []
    shrinking: list[Object] = []
    for obj in objects:
        live = seen.find(obj["kind"], obj["metadata"]["name"]) if obj["kind"] == "Deployment" else None
        shrinks = live is not None and obj["spec"]["replicas"] < live["spec"].get("replicas", 1)
        (shrinking if shrinks else growing).append(obj)
    return tuple(growing), tuple(shrinking)


def prunable(seen: Snapshot, cast: Cast, wanted: Iterable[Object]) -> tuple[Ref, ...]:
    """Return the children that nothing wants any more; of deleted owners the garbage collector takes care."""
    keep = {(obj["kind"], obj["metadata"]["name"]) for obj in wanted}
    owners = {version.uid for version in seen.accepted()}
    if seen.endpoint and cast.stable:  # without a stable version the route stays as it is
        owners.add(seen.endpoint.uid)
    mounted = _mounted_config_maps(seen.pods)
    refs = []
    for obj in seen.objects:
        meta = obj["metadata"]
        unwanted = (obj["kind"], meta["name"]) not in keep and not meta.get("deletionTimestamp")
        in_use = obj["kind"] == "ConfigMap" and meta["name"] in mounted
        if unwanted and not in_use and _owner_uid(obj) in owners:
            refs.append(Ref(obj["kind"], meta["namespace"], meta["name"], meta["uid"]))
    return tuple(refs)


def _mounted_config_maps(pods: Iterable[Seen]) -> set[str]:
    volumes = [volume for pod in pods for volume in pod.get("spec", {}).get("volumes", ())]
    return {volume["configMap"]["name"] for volume in volumes if "configMap" in volume}


def _owner_uid(obj: Seen) -> str | None:
    for owner in obj["metadata"].get("ownerReferences", ()):
        if owner.get("apiVersion") == API_VERSION and owner.get("controller"):
            return str(owner["uid"])
    return None
