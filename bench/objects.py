"""The objects of the benchmark: versions of endpoints of their own, and the children that a version gets."""

import copy
from typing import Any

import yaml

from dev.paths import ROOT
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.config_map import make_config_map
from inferenceversion_operator.core.objects.deployment import make_deployment
from inferenceversion_operator.core.objects.endpoint import make_endpoint
from inferenceversion_operator.core.objects.pod_disruption_budget import make_pod_disruption_budget
from inferenceversion_operator.core.objects.service import make_endpoint_service, make_version_service
from inferenceversion_operator.core.snapshot import Settings

Object = dict[str, Any]
EXAMPLE = yaml.safe_load((ROOT / "examples" / "inferenceversion.yaml").read_text())
SETTINGS = Settings(guard_image="registry.example/envoy:1", fetch_image="registry.example/operator:1")


def endpoint_of(name: int | str) -> str:
    """Return the name of the endpoint that a version of this number or name has to itself."""
    return f"news-{name}"


def version(namespace: str, name: int | str) -> Object:
    """Return an InferenceVersion of its own endpoint."""
    made: Object = copy.deepcopy(EXAMPLE)
    made["metadata"] = {"name": f"{endpoint_of(name)}-2.4.0", "namespace": namespace}
    made["spec"]["endpoint"] = endpoint_of(name)
    # A fake node has 8 GPUs and room for 110 pods: what is asked for fits, whatever the number of versions.
    made["spec"]["runtime"]["resources"] = {"limits": {"memory": "1Gi"}, "requests": {"cpu": "10m", "memory": "64Mi"}}
    made["spec"]["runtime"]["tolerations"] = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
    return made


def family(namespace: str, name: int | str) -> list[Object]:
    """Return everything that exists in the end: the version, its endpoint, and the children of both.

    Without owners: the floor's client writes all of them side by side.
    """
    declared = version(namespace, name)
    seen = _parsed(declared)
    endpoint = parse_endpoint(make_endpoint(namespace, seen.endpoint))
    objects = [*_children_of(seen), make_endpoint_service(endpoint, seen)]
    for obj in objects:
        obj["metadata"].pop("ownerReferences")
        # Not the operator's: it must neither watch nor prune them.
        obj["metadata"]["labels"] = {**obj["metadata"]["labels"], "app.kubernetes.io/managed-by": "bare-client"}
    return [declared, make_endpoint(namespace, seen.endpoint), *objects]


def children(namespace: str, name: int | str) -> list[tuple[str, str, str]]:
    """Return kind, namespace and name of the version's own children: the endpoint's Service comes with a ready pod."""
    made = _children_of(_parsed(version(namespace, name)))
    return [(obj["kind"], namespace, obj["metadata"]["name"]) for obj in made]


def _parsed(declared: Object) -> InferenceVersion:
    # By its uid a version is told from others: the API server gives it one, here it is made of its name.
    meta = declared["metadata"]
    return parse_version({**declared, "metadata": {**meta, "uid": f"{meta['namespace']}/{meta['name']}"}})


def _children_of(seen: InferenceVersion) -> list[Object]:
    config_map = make_config_map(seen)
    return [
        config_map,
        make_deployment(seen, 1, config_map["metadata"]["name"], SETTINGS),
        make_version_service(seen),
        make_pod_disruption_budget(seen),
    ]
