"""Who owns an endpoint: where Git does, a change on the cluster is undone at the next sync."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.api.labels import API_VERSION

_ARGO_TRACKING = "argocd.argoproj.io/tracking-id"
_ARGO_INSTANCES = ("argocd.argoproj.io/instance", "app.kubernetes.io/instance")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_GIT_MANAGERS = ("argocd", "kustomize-controller")  # Helm renders: Git has values, not this manifest
_FLUX = {"kustomize.toolkit.fluxcd.io": "Kustomization", "helm.toolkit.fluxcd.io": "HelmRelease"}
_TRACKING = frozenset(
    {
        _LAST_APPLIED,
        _ARGO_TRACKING,
        *_ARGO_INSTANCES,
        *(f"{group}/{what}" for group in _FLUX for what in ("name", "namespace")),
    }
)


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


@dataclass(frozen=True, slots=True)
class GitChange:
    """What to commit.

    Attributes:
        manifest: the InferenceEndpoint.
        whole: it is all of what Git has of it; else only the fields to set.
    """

    manifest: dict[str, Any]
    whole: bool


def change_in_git(endpoint: Mapping[str, Any], spec: Mapping[str, Any]) -> GitChange:
    """Return the manifest with these fields of spec set; None removes one.

    What Git has is known where the tool left it on the object: as the last applied configuration, or by its name among
    the managed fields. Where neither is there, the manifest has only what is to be set.
    """
    there = _last_applied(endpoint) or _applied_by_tool(endpoint)
    if there is None:
        there = {"spec": {}}
    wanted = {key: value for key, value in {**there.get("spec", {}), **spec}.items() if value is not None}
    metadata = endpoint["metadata"]
    place = {"name": metadata["name"], "namespace": metadata["namespace"]}
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "InferenceEndpoint",
        "metadata": {**place, **_written(there.get("metadata") or {})},
        "spec": wanted,
    }
    return GitChange(manifest, whole=len(there) > 1)


def _last_applied(endpoint: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        found = json.loads((endpoint["metadata"].get("annotations") or {}).get(_LAST_APPLIED, ""))
    except ValueError:
        return None
    return {"metadata": {}, **found} if isinstance(found, dict) and isinstance(found.get("spec"), dict) else None


def _applied_by_tool(endpoint: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields that a tool of Git applied by server-side apply."""
    for entry in endpoint["metadata"].get("managedFields") or ():
        manager, by_apply = str(entry.get("manager", "")), entry.get("operation") == "Apply"
        if by_apply and manager.startswith(_GIT_MANAGERS) and not entry.get("subresource"):
            owned = _owned(endpoint, entry.get("fieldsV1") or {})
            return {"metadata": {}, "spec": {}, **owned}
    return None


def _owned(value: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an object that a manager's fields name; a list is taken whole."""
    part: dict[str, Any] = {}
    for key, below in fields.items():
        name = key.removeprefix("f:")
        if not key.startswith("f:") or name not in value:
            continue
        inner = value[name]
        deeper = isinstance(inner, Mapping) and any(child.startswith("f:") for child in below)
        part[name] = _owned(inner, below) if deeper else inner
    return part


def _written(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the labels and annotations that a person writes, without those by which a tool tracks the object."""
    kept: dict[str, Any] = {}
    for kind in ("labels", "annotations"):
        mine = {k: v for k, v in (metadata.get(kind) or {}).items() if k not in _TRACKING}
        kept |= {kind: mine} if mine else {}
    return kept


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
