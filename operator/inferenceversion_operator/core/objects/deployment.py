"""The Deployment of a version."""

from inferenceversion_operator.api.labels import LABEL_NAME
from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.common import Object, version_labels, version_metadata, version_selector
from inferenceversion_operator.core.objects.pod import PROBES, make_pod_spec
from inferenceversion_operator.core.snapshot import Settings

# The guard's and Triton's metrics ports are named "guard-metrics" and "metrics". One port is named here: a scraper that
# is told none asks every port for /metrics, and the guard would count that as requests of clients.
_SCRAPE = {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": str(PROBES),
    "prometheus.io/path": "/stats/prometheus",
}


def make_deployment(version: InferenceVersion, replicas: int, config_map: str, settings: Settings) -> Object:
    """Return the Deployment with all its pods need.

    Args:
        replicas: how many the role of the version wants now.
        config_map: name of the version's ConfigMap; it is in the template, so new content rolls the pods.
    """
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": version_metadata(version),
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 1,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": version_selector(version)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": version_labels(version), "annotations": dict(_SCRAPE)},
                "spec": {
                    **make_pod_spec(version, config_map, settings),
                    "topologySpreadConstraints": [_spread(version)],
                },
            },
        },
    }


def _spread(version: InferenceVersion) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {LABEL_NAME: version_name(version.name)}},
    }
