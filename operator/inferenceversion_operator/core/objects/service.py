"""Services: one a version (what routes point at), one an endpoint (stable, for clients without a Gateway)."""

from inferenceversion_operator.api.names import endpoint_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.objects.common import Object, endpoint_metadata, version_metadata, version_selector

HTTP_PORT = 80
GRPC_PORT = 81


def make_version_service(version: InferenceVersion) -> Object:
    """Return the Service in front of the guards of one version."""
    return make_service(version_metadata(version), version_selector(version))


def make_endpoint_service(endpoint: InferenceEndpoint, stable: InferenceVersion) -> Object:
    """Return the Service that follows the stable version; switching it is a release where there is no Gateway."""
    return make_service(endpoint_metadata(endpoint, endpoint_name(endpoint.name)), version_selector(stable))


def make_service(metadata: Object, selector: dict[str, str]) -> Object:
    """Return a Service with the two ports that everything here has."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "ClusterIP",
            "selector": selector,
            "ports": [
                {"name": "http", "port": HTTP_PORT, "targetPort": "http", "protocol": "TCP"},
                {
                    "name": "grpc",
                    "port": GRPC_PORT,
                    "targetPort": "grpc",
                    "protocol": "TCP",
                    "appProtocol": "kubernetes.io/h2c",
                },
            ],
        },
    }
