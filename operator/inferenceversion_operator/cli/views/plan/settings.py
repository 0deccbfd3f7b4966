"""How the operator is installed, as far as what it made tells."""

from collections.abc import Iterable, Mapping
from typing import Any

from inferenceversion_operator.core.snapshot import Settings

Object = Mapping[str, Any]
ROUTES = frozenset({"HTTPRoute", "GRPCRoute"})
UNKNOWN_IMAGE = "image-not-known"


def infer_settings(
    endpoint: str, namespace: str, children: Iterable[Object], route_kinds: frozenset[str] = ROUTES
) -> Settings:
    """Return the settings that the children of any endpoint in the namespace were made with.

    Args:
        endpoint: whose hostname tells the domain.
        children: live objects that the operator made; where there are none, there is taken to be a Gateway.
        route_kinds: what the cluster serves.
    """
    there = list(children)
    images: dict[str, str] = {}
    parents: list[Object] = []
    domain = "inference.local"
    for obj in there:
        spec = obj.get("spec") or {}
        if obj["kind"] == "Deployment":
            pod = spec.get("template", {}).get("spec", {})
            named = (*pod.get("initContainers", ()), *pod.get("containers", ()))
            images |= {container["name"]: container["image"] for container in named}
        elif obj["kind"] == "HTTPRoute":
            parents = parents or [dict(ref) for ref in spec.get("parentRefs", ())]
            begin = f"{endpoint}.{namespace}."
            domain = next((h.removeprefix(begin) for h in spec.get("hostnames", ()) if h.startswith(begin)), domain)
    if not there:
        parents = [{"name": "gateway-not-known"}]
    fetch = images.get("fetch", UNKNOWN_IMAGE)
    return Settings(
        guard_image=images.get("guard", UNKNOWN_IMAGE),
        fetch_image=fetch,
        gateway_parent_refs=tuple(parents),
        gateway_domain=domain,
        route_kinds=route_kinds,
        differ_image=images.get("differ", fetch),
    )
