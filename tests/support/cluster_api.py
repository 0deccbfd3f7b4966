"""Reads from the API server over kept connections: a probe that looks five times a second starts no process."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from kubernetes import client, config

_GATEWAY = "/apis/gateway.networking.k8s.io/v1"
_OURS = "/apis/inferenceversion.io/v1alpha1"
_PLACES = {
    "iv": (_OURS, "inferenceversions"),
    "iep": (_OURS, "inferenceendpoints"),
    "httproute": (_GATEWAY, "httproutes"),
    "grpcroute": (_GATEWAY, "grpcroutes"),
    "deployment": ("/apis/apps/v1", "deployments"),
    "replicaset": ("/apis/apps/v1", "replicasets"),
    "pdb": ("/apis/policy/v1", "poddisruptionbudgets"),
    "configmap": ("/api/v1", "configmaps"),
    "service": ("/api/v1", "services"),
    "pod": ("/api/v1", "pods"),
    "event": ("/api/v1", "events"),
}
CHILD_KINDS = ("configmap", "deployment", "service", "pdb", "httproute", "grpcroute")


class Api:
    """What the API server stores, as plain objects."""

    def __init__(self, kubeconfig: Path) -> None:
        settings = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=settings)  # type: ignore[no-untyped-call]
        token = settings.get_api_key_with_prefix("authorization")
        self._headers = {"Accept": "application/json", **({"authorization": token} if token else {})}
        self._server = settings.host
        self._pool = client.rest.RESTClientObject(settings).pool_manager

    def close(self) -> None:
        self._pool.clear()

    def read(self, path: str, **query: str) -> bytes | None:
        """Return the body of a GET; None for 404."""
        url = f"{self._server}{path}{'?' + urlencode(query) if query else ''}"
        answer = self._pool.request("GET", url, headers=self._headers, timeout=30)
        if answer.status == 404:
            return None
        if answer.status >= 400:
            raise AssertionError(f"GET {path}: {answer.status} {answer.data!r}")
        return bytes(answer.data)

    def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """Return an object, or None where there is none."""
        body = self.read(f"{_place(kind, namespace)}/{name}")
        return None if body is None else json.loads(body)

    def all_of(self, kind: str, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        """Return the objects of a kind in a namespace."""
        body = self.read(_place(kind, namespace), **({"labelSelector": selector} if selector else {}))
        return [] if body is None else json.loads(body)["items"]


def _place(kind: str, namespace: str) -> str:
    prefix, plural = _PLACES[kind]
    return f"{prefix}/namespaces/{namespace}/{plural}"
