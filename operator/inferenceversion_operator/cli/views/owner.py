"""Who owns an endpoint: where Git does, a change on the cluster is undone at the next sync."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.labels import API_VERSION

_ARGO_TRACKING = "argocd.argoproj.io/tracking-id"
_ARGO_INSTANCES = ("argocd.argoproj.io/instance", "app.kubernetes.io/instance")
_FLUX = {"kustomize.toolkit.fluxcd.io": "Kustomization", "helm.toolkit.fluxcd.io": "HelmRelease"}


@dataclass(frozen=True, slots=True)
class Owner:
    tool: str  # Argo CD or Flux
    by: str  # such as Application/news or Kustomization/flux-system/apps

    def __str__(self) -> str:
        return f"{self.tool} ({self.by})"


def find_owner(endpoint: Mapping[str, Any]) -> Owner | None:
    """Return what syncs this object from Git; None where nothing does."""
    metadata = endpoint["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return _argo(metadata, labels, annotations) or _flux(labels)


def change_in_git(endpoint: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set in Git, as the part of the manifest that they are."""
    metadata = endpoint["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceEndpoint",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": dict(spec),
    }


def _argo(metadata: Mapping[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str]) -> Owner | None:
    tracking = annotations.get(_ARGO_TRACKING)
    if tracking:
        return Owner("Argo CD", f"Application/{tracking.partition(':')[0]}")
    # Helm sets app.kubernetes.io/instance too: it is Argo CD's only where Argo CD wrote the object.
    managers = {str(entry.get("manager", "")) for entry in metadata.get("managedFields") or ()}
    argo_wrote = any(manager.startswith("argocd") for manager in managers)
    for label in _ARGO_INSTANCES:
        if label in labels and (argo_wrote or label.startswith("argocd.")):
            return Owner("Argo CD", f"Application/{labels[label]}")
    return None


def _flux(labels: Mapping[str, str]) -> Owner | None:
    for group, kind in _FLUX.items():
        if f"{group}/name" in labels:
            return Owner("Flux", f"{kind}/{labels.get(f'{group}/namespace', '')}/{labels[f'{group}/name']}")
    return None
