"""HTTPRoute and GRPCRoute: one builder, the kind is an argument."""

from collections.abc import Iterable
from dataclasses import dataclass

from inferenceversion_operator.api.labels import HEADER_VERSION
from inferenceversion_operator.api.names import endpoint_name, version_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.objects.common import Object, endpoint_metadata
from inferenceversion_operator.core.objects.service import GRPC_PORT, HTTP_PORT
from inferenceversion_operator.core.snapshot import Settings, Snapshot

API_VERSION = "gateway.networking.k8s.io/v1"
ROUTE_KINDS = ("HTTPRoute", "GRPCRoute")
_RULES_LIMIT = 16  # of a route, by the Gateway API


def hostnames(endpoint: InferenceEndpoint, settings: Settings, kind: str = "HTTPRoute") -> list[str]:
    """Return the endpoint's hostnames; gRPC has names of its own, since a listener takes one kind of route a name."""
    declared = endpoint.gateway.hostnames if endpoint.gateway else ()
    names = list(declared) or [f"{endpoint.name}.{endpoint.namespace}.{settings.gateway_domain}"]
    return [_grpc(name) for name in names] if kind == "GRPCRoute" else names


def _grpc(name: str) -> str:
    """Return the name for gRPC; of a wildcard the star stays in front, nowhere else is it allowed."""
    return f"*.grpc.{name[2:]}" if name.startswith("*.") else f"grpc.{name}"


def parent_refs(endpoint: InferenceEndpoint, settings: Settings) -> list[Object]:
    """Return the Gateways to attach to: the endpoint's own, else the operator's default; none: no route."""
    declared = endpoint.gateway.parent_refs if endpoint.gateway else ()
    return [
        {"group": "gateway.networking.k8s.io", "kind": "Gateway", **ref}
        for ref in (declared or settings.gateway_parent_refs)
    ]


def has_gateway(seen: Snapshot) -> bool:
    """Say whether requests come through a Gateway, which can split them; a Service leads to one version."""
    endpoint = seen.endpoint
    return (
        endpoint is not None and bool(parent_refs(endpoint, seen.settings)) and "HTTPRoute" in seen.settings.route_kinds
    )


@dataclass(frozen=True, slots=True)
class Split:
    """How live requests are shared out.

    Attributes:
        weights: versions and their shares in percent, the stable one first; they add up to 100.
        mirror: Service that gets copies, and their share in percent.
    """

    weights: tuple[tuple[InferenceVersion, int], ...]
    mirror: tuple[str, int] | None = None


def make_route(
    kind: str,
    endpoint: InferenceEndpoint,
    split: Split,
    named: Iterable[InferenceVersion],
    settings: Settings,
) -> Object:
    """Return the route of an endpoint: everything by its split, a named version to whoever asks by header.

    Args:
        named: versions that can be reached by the header ``x-inference-version`` (they hold capacity).
    """
    by_header = [
        {"matches": [match_rule(kind, version)], "backendRefs": [backend_of_version(kind, version)]}
        for version in sorted(named, key=lambda v: (v.created, v.name))
    ]
    everything = {"matches": [match_rule(kind)]} if kind == "HTTPRoute" else {}
    copies = {"filters": [_mirror(kind, *split.mirror)]} if split.mirror else {}
    shares = [backend_of_version(kind, version, weight) for version, weight in split.weights]
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": endpoint_metadata(endpoint, endpoint_name(endpoint.name)),
        "spec": {
            "parentRefs": parent_refs(endpoint, settings),
            "hostnames": hostnames(endpoint, settings, kind),
            # A Gateway may name what a rule leads to by its place in this list, and Envoy may hear of a route before it
            # hears of a new such name (503, cluster_not_found). So the rule that all traffic takes has the first place
            # for ever, and a new version the last: what serves keeps its name. Which rule matches is another matter.
            "rules": [
                {**everything, **copies, "backendRefs": shares},
                *by_header[: _RULES_LIMIT - 1],
            ],
        },
    }


def match_rule(kind: str, version: InferenceVersion | None = None) -> Object:
    # The API's own default path is written out, so that what is stored is what was asked for.
    match: Object = {"path": {"type": "PathPrefix", "value": "/"}} if kind == "HTTPRoute" else {}
    if version:
        match["headers"] = [{"type": "Exact", "name": HEADER_VERSION, "value": version.version}]
    return match


def _mirror(kind: str, service: str, percent: int) -> Object:
    port = HTTP_PORT if kind == "HTTPRoute" else GRPC_PORT
    backend = {"group": "", "kind": "Service", "name": service, "port": port}
    return {"type": "RequestMirror", "requestMirror": {"backendRef": backend, "percent": percent}}


def backend_of_version(kind: str, version: InferenceVersion, weight: int = 1) -> Object:
    port = HTTP_PORT if kind == "HTTPRoute" else GRPC_PORT
    return {
        "group": "",
        "kind": "Service",
        "name": version_name(version.name),
        "port": port,
        "weight": weight,
    }
