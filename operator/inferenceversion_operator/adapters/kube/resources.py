"""The kinds that the operator knows, and their paths below the API server's root."""

from dataclasses import dataclass

from inferenceversion_operator.api.labels import API_VERSION, FIELD_MANAGER, LABEL_MANAGED_BY

MANAGED = f"{LABEL_MANAGED_BY}={FIELD_MANAGER}"
GATEWAY = "gateway.networking.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object.

    Attributes:
        selector: label selector of what the operator watches; the server filters, so other people's pods cost nothing.
    """

    kind: str
    api_version: str
    plural: str
    selector: str | None = None

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the URL path of a collection (all namespaces without one), an object or a subresource."""
        root = "/api" if "/" not in self.api_version else "/apis"
        parts = [root, self.api_version]
        parts += ["namespaces", namespace] if namespace else []
        parts += [self.plural]
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


INFERENCE_VERSION = Resource("InferenceVersion", API_VERSION, "inferenceversions")
INFERENCE_ENDPOINT = Resource("InferenceEndpoint", API_VERSION, "inferenceendpoints")
POD = Resource("Pod", "v1", "pods", MANAGED)
# Carry the labels of their Service: the control plane copies them.
ENDPOINT_SLICE = Resource("EndpointSlice", "discovery.k8s.io/v1", "endpointslices", MANAGED)
EVENT = Resource("Event", "events.k8s.io/v1", "events")
CHILDREN = (
    Resource("ConfigMap", "v1", "configmaps", MANAGED),
    Resource("Service", "v1", "services", MANAGED),
    Resource("Deployment", "apps/v1", "deployments", MANAGED),
    Resource("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", MANAGED),
)
ROUTES = (
    Resource("HTTPRoute", GATEWAY, "httproutes", MANAGED),
    Resource("GRPCRoute", GATEWAY, "grpcroutes", MANAGED),
)
BY_KIND = {r.kind: r for r in (INFERENCE_VERSION, INFERENCE_ENDPOINT, POD, ENDPOINT_SLICE, EVENT, *CHILDREN, *ROUTES)}
