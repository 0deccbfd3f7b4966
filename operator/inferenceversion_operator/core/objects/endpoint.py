"""The InferenceEndpoint that the operator makes when the first version names one."""

from inferenceversion_operator.api.labels import API_VERSION, FIELD_MANAGER, LABEL_MANAGED_BY
from inferenceversion_operator.core.objects.common import Object


def make_endpoint(namespace: str, name: str) -> Object:
    """Return an endpoint with every default; the label says that it goes when its last version goes."""
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceEndpoint",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL_MANAGED_BY: FIELD_MANAGER}},
        "spec": {},
    }
