"""The PodDisruptionBudget of a version."""

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.common import Object, version_metadata, version_selector


def make_pod_disruption_budget(version: InferenceVersion) -> Object:
    """Return a budget of one pod at a time: a node can be drained, two pods of a version never go together."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": version_metadata(version),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": version_selector(version)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
