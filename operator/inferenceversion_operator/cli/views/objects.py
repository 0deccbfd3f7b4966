"""The objects that the operator would make for a version."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion, Role
from inferenceversion_operator.core.rollout.release import Release
from inferenceversion_operator.core.rollout.roles import Cast
from inferenceversion_operator.core.snapshot import Settings, Snapshot
from inferenceversion_operator.core.wanted import make_children, make_traffic


def make_objects(
    version: Mapping[str, Any], endpoints: Iterable[Mapping[str, Any]], settings: Settings, namespace: str
) -> list[dict[str, Any]]:
    """Return the children of the version, and what leads to it if it is the stable one.

    Args:
        version: the InferenceVersion.
        endpoints: InferenceEndpoints that are declared; where its own is not among them, the operator makes it.
        settings: how the operator is installed.
        namespace: of objects that name none.
    """
    wanted = _placed(parse_version(version), namespace)
    endpoint = _endpoint_of(wanted, endpoints)
    cast = Cast(wanted, None, {wanted.name: Role.STABLE})
    seen = Snapshot(wanted.namespace, wanted.endpoint, settings, endpoint=endpoint, versions=(wanted,))
    children = make_children(wanted, max(1, wanted.autoscaling.min_replicas), seen)
    return [_without_unknown_owner(obj) for obj in (*children, *make_traffic(seen, cast, Release(stable=wanted)))]


def _placed(version: InferenceVersion, namespace: str) -> InferenceVersion:
    return version if version.namespace else replace(version, namespace=namespace)


def _endpoint_of(version: InferenceVersion, endpoints: Iterable[Mapping[str, Any]]) -> InferenceEndpoint:
    for endpoint in map(parse_endpoint, endpoints):
        if endpoint.name == version.endpoint and endpoint.namespace in ("", version.namespace):
            return replace(endpoint, namespace=version.namespace)
    return InferenceEndpoint(version.namespace, version.endpoint, uid="", generation=1, managed=True)


def _without_unknown_owner(obj: dict[str, Any]) -> dict[str, Any]:
    """Leave out an owner without uid (it comes from a file): applied, the object would be garbage at once."""
    owners = [owner for owner in obj["metadata"].get("ownerReferences", ()) if owner.get("uid")]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
    return {**obj, "metadata": {**metadata, **({"ownerReferences": owners} if owners else {})}}
