"""Does the Gateway do what a stage needs: a stage counts only from then on."""

from collections.abc import Iterable

from inferenceversion_operator.api.names import differ_name, endpoint_name, version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.conditions import find
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.objects.route import ROUTE_KINDS
from inferenceversion_operator.core.rollout.attempt import Attempt
from inferenceversion_operator.core.rollout.readiness import addresses
from inferenceversion_operator.core.snapshot import Object, Snapshot


def differ_is_ready(seen: Snapshot) -> bool:
    """Say whether copies of requests have where to go; before, none are made."""
    if seen.endpoint is None:
        return False
    name = differ_name(seen.endpoint.name)
    deployment = seen.find("Deployment", name)
    return bool(deployment and deployment.get("status", {}).get("readyReplicas")) and addresses(seen, name) > 0


def _copies_all(route: Object, attempt: Attempt) -> bool:
    """Say whether the installed Gateway API dropped the share of requests to copy, which it then takes for all."""
    mirrors = [f["requestMirror"] for f in _first_rule(route).get("filters", ()) if "requestMirror" in f]
    return attempt.phase is Phase.SHADOW and any("percent" not in mirror for mirror in mirrors)


def not_taken(seen: Snapshot, stable: InferenceVersion, attempt: Attempt) -> str:
    """Return what the stage still waits for; empty where requests, or their copies, go as they should."""
    if attempt.phase is Phase.SHADOW and not differ_is_ready(seen):
        return f"the differ, which compares the answers, is getting ready (Deployment {differ_name(seen.name)})"
    for kind in ROUTE_KINDS:
        if kind in seen.settings.route_kinds:
            route = seen.find(kind, endpoint_name(seen.name))
            if route is None or not _leads(route, stable, attempt):
                return f"the {kind} is being written"
            if _copies_all(route, attempt):
                return f"the installed Gateway API has no percent for copies of requests ({kind}): install 1.3 or newer"
            missing = _not_accepted(kind, route)
            if missing:
                return missing
    return ""


def has_taken(route: Object) -> bool:
    """Say whether every Gateway of a route has accepted it as it is now."""
    return not _not_accepted(route["kind"], route)


def lags(seen: Snapshot, wanted: Iterable[Object]) -> bool:
    """Say whether a Gateway still sends requests as an earlier route said, so that who lost them may get some."""
    for route in wanted:
        live = seen.find(route["kind"], route["metadata"]["name"]) if route["kind"] in ROUTE_KINDS else None
        parents = told_by_gateways(live) if live else ()
        if live is None or not parents:  # nobody sends anything by it
            continue
        if _goals(live) != _goals(route) or any(_has_not_seen(parent, live) for parent in parents):
            return True
    return False


def _has_not_seen(parent: Object, route: Object) -> bool:
    generation = route["metadata"].get("generation", 0)
    accepted: Object = find(parent.get("conditions"), "Accepted") or {}
    return bool(accepted.get("observedGeneration", generation) < generation)


def _goals(route: Object) -> list[tuple[dict[str, int], list[str]]]:
    """Return where each rule leads, and where it sends copies."""
    return [
        (
            {backend["name"]: backend.get("weight", 1) for backend in rule.get("backendRefs", ())},
            [f["requestMirror"]["backendRef"]["name"] for f in rule.get("filters", ()) if "requestMirror" in f],
        )
        for rule in route["spec"].get("rules") or ()
    ]


def _first_rule(route: Object) -> Object:
    """Return the rule of all traffic; nothing where somebody took it out by hand, which is put right soon."""
    return next(iter(route["spec"].get("rules") or ()), {})


def told_by_gateways(route: Object) -> tuple[Object, ...]:
    """Return what the Gateways that the route names have said of it; one that was removed never takes its word back."""
    parents = route.get("status", {}).get("parents", ())
    return tuple(p for p in parents if any(_is_of(p, ref, route) for ref in route["spec"].get("parentRefs") or ()))


def _leads(route: Object, stable: InferenceVersion, attempt: Attempt) -> bool:
    """Say whether the live route has the stage's weights, or its mirror."""
    rule = _first_rule(route)
    weights = {backend["name"]: backend.get("weight", 1) for backend in rule.get("backendRefs", ())}
    mirrored = any(entry.get("type") == "RequestMirror" for entry in rule.get("filters", ()))
    if mirrored is not (attempt.phase is Phase.SHADOW):
        return False
    if attempt.weight == 0:
        return set(weights) == {version_name(stable.name)}
    return weights == _shares(stable, attempt)


def _shares(stable: InferenceVersion, attempt: Attempt) -> dict[str, int]:
    return {
        version_name(stable.name): 100 - attempt.weight,
        version_name(attempt.candidate.name): attempt.weight,
    }


def _not_accepted(kind: str, route: Object) -> str:
    """Return what is missing until every Gateway of the route has accepted it, by one controller of it at least."""
    parents = told_by_gateways(route)
    if not parents:
        return f"no Gateway has taken the {kind} yet"
    for ref in route["spec"].get("parentRefs") or ():
        missing = [_not_accepted_by(parent, kind, route) for parent in parents if _is_of(parent, ref, route)]
        if not missing:
            return f"Gateway {ref.get('name')} has not taken the {kind} yet"
        if all(missing):
            return missing[0]
    return ""


def _is_of(parent: Object, ref: Object, route: Object) -> bool:
    """Say whether a Gateway's entry in the route's status is about this entry of ``spec.parentRefs``."""
    told = parent.get("parentRef", {})
    mine = route["metadata"].get("namespace")
    same = all((told.get(field) or mine) == (ref.get(field) or mine) for field in ("name", "namespace"))
    # Some controllers name the listener that they chose where the route leaves it open.
    return same and all(ref.get(field) in (None, told.get(field)) for field in ("sectionName", "port"))


def _not_accepted_by(parent: Object, kind: str, route: Object) -> str:
    name = parent.get("parentRef", {}).get("name")
    for wanted in ("Accepted", "ResolvedRefs"):
        told: Object = find(parent.get("conditions"), wanted) or {}
        if told.get("observedGeneration", 0) < route["metadata"].get("generation", 0):
            return f"Gateway {name} has not seen the {kind} as it is now"
        if told.get("status") != "True":
            return f"Gateway {name} does not take the {kind}: {told.get('reason', '')}: {told.get('message', '')}"
    return ""
