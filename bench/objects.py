"""The objects of the benchmark: versions of endpoints of their own, and the children that a version gets."""

import copy
from collections.abc import Mapping
from typing import Any

import yaml

from dev.paths import ROOT
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.core.objects.config_map import make_config_map
from inferenceversion_operator.core.objects.deployment import make_deployment
from inferenceversion_operator.core.objects.endpoint import make_endpoint
from inferenceversion_operator.core.objects.pod_disruption_budget import make_pod_disruption_budget
from inferenceversion_operator.core.objects.service import make_endpoint_service, make_version_service
from inferenceversion_operator.core.snapshot import Settings

Object = dict[str, Any]
EXAMPLE = yaml.safe_load((ROOT / "examples" / "inferenceversion.yaml").read_text())
SETTINGS = Settings(guard_image="registry.example/envoy:1", fetch_image="registry.example/operator:1")


def version(namespace: str, number: int) -> Object:
    """Return an InferenceVersion of its own endpoint."""
    made: Object = copy.deepcopy(EXAMPLE)
    made["metadata"] = {"name": f"news-{number}-2.4.0", "namespace": namespace}
    made["spec"]["endpoint"] = f"news-{number}"
    # A fake node has 8 GPUs and room for 110 pods: what is asked for fits, whatever the number of versions.
    made["spec"]["runtime"]["resources"] = {"limits": {"memory": "1Gi"}, "requests": {"cpu": "10m", "memory": "64Mi"}}
    made["spec"]["runtime"]["tolerations"] = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
    return made


def family(namespace: str, number: int) -> list[Object]:
    """Return everything that exists in the end: the version, its endpoint, and the children of both.

    Without owners: the floor's client writes all of them side by side.
    """
    declared = version(namespace, number)
    seen = parse_version(declared)
    endpoint = parse_endpoint(make_endpoint(namespace, seen.endpoint))
    config_map = make_config_map(seen)
    objects = [
        config_map,
        make_deployment(seen, 1, config_map["metadata"]["name"], SETTINGS),
        make_version_service(seen),
        make_pod_disruption_budget(seen),
        make_endpoint_service(endpoint, seen),
    ]
    for obj in objects:
        obj["metadata"].pop("ownerReferences")
        # Not the operator's: it must neither watch nor prune them.
        obj["metadata"]["labels"] = {**obj["metadata"]["labels"], "app.kubernetes.io/managed-by": "bare-client"}
    return [declared, make_endpoint(namespace, seen.endpoint), *objects]


def ident(obj: Mapping[str, Any]) -> tuple[str, str]:
    return str(obj["kind"]), str(obj["metadata"]["name"])
