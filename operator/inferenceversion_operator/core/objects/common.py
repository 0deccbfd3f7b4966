"""What all children share: names, labels, owner references."""

from typing import Any

from inferenceversion_operator.api.labels import (
    API_VERSION,
    FIELD_MANAGER,
    LABEL_ENDPOINT,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    LABEL_VERSION,
)
from inferenceversion_operator.api.names import label_value, version_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion

Object = dict[str, Any]


def version_metadata(version: InferenceVersion, name: str | None = None) -> Object:
    """Return the metadata of a version's child; its name is the derived one unless another is given."""
    return {
        "name": name or version_name(version.name),
        "namespace": version.namespace,
        "labels": version_labels(version),
        "ownerReferences": [_owner("InferenceVersion", version.name, version.uid)],
    }


def version_labels(version: InferenceVersion) -> dict[str, str]:
    """Return the labels of a version's children and pods; never ``app.kubernetes.io/instance`` (Argo CD's)."""
    return {
        LABEL_MANAGED_BY: FIELD_MANAGER,
        LABEL_ENDPOINT: version.endpoint,
        LABEL_NAME: version_name(version.name),
        LABEL_VERSION: label_value(version.version),
    }


def version_selector(version: InferenceVersion) -> dict[str, str]:
    """Return what selects this version's pods and no other's."""
    return {LABEL_NAME: version_name(version.name)}


def endpoint_metadata(endpoint: InferenceEndpoint, name: str) -> Object:
    """Return the metadata of an endpoint's child."""
    return {
        "name": name,
        "namespace": endpoint.namespace,
        "labels": {LABEL_MANAGED_BY: FIELD_MANAGER, LABEL_ENDPOINT: endpoint.name},
        "ownerReferences": [_owner("InferenceEndpoint", endpoint.name, endpoint.uid)],
    }


def _owner(kind: str, name: str, uid: str) -> Object:
    # blockOwnerDeletion would need the right to update finalizers, and nothing waits for it.
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": uid, "controller": True}
