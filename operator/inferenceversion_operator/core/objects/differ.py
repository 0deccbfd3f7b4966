"""The differ of an endpoint: what it compares, its Deployment, and the Service that copies of requests are sent to."""

import hashlib
import json
from typing import Any

from inferenceversion_operator.api.labels import LABEL_DIFFER
from inferenceversion_operator.api.names import config_map_name, differ_name, version_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.objects.common import Object, endpoint_metadata
from inferenceversion_operator.core.objects.pod import CONFIG_DIR, GRPC, HTTP, PROBES, RESTRICTED, USER
from inferenceversion_operator.core.objects.service import GRPC_PORT, HTTP_PORT, make_service
from inferenceversion_operator.core.snapshot import Settings

PLAN_KEY = "differ.json"
_MIB = 1 << 20
# Few replays at once: whatever was queued reaches stable, which serves live requests, at no higher rate.
_CONCURRENCY = 16
_QUEUE = 256
_RESPONSE_BYTES = 16 * _MIB
_BESIDE_TIMEOUT_MS = 1000  # the guard says itself that a request took too long
# One request in five is asked twice of stable: enough to tell noise, little enough to pay for.
_SELF_SHARE = 0.2
_SAMPLE_SIZE = 50
# Python and its libraries; bodies and the copy that is read of each; what the longest JSON becomes when it is read.
_PROCESS_BYTES = 128 * _MIB
_PARSED_BYTES = 24 * 16 * _MIB
_GRACE_S = 20
_SCRAPE = {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": str(PROBES),
    "prometheus.io/path": "/metrics",
}


def make_differ(
    endpoint: InferenceEndpoint, stable: InferenceVersion, candidate: InferenceVersion, settings: Settings
) -> list[Object]:
    """Return the ConfigMap, the Deployment and the Service, in this order.

    The ConfigMap is immutable and named by its content, so another candidate rolls the pod.
    """
    name = differ_name(endpoint.name)
    text = json.dumps(make_differ_plan(endpoint, stable, candidate), indent=2) + "\n"
    config_map = config_map_name(name, hashlib.sha256(text.encode()).hexdigest())
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": endpoint_metadata(endpoint, config_map),
            "immutable": True,
            "data": {PLAN_KEY: text},
        },
        _deployment(endpoint, _pod_spec(stable, candidate, config_map, settings)),
        make_service(endpoint_metadata(endpoint, name), {LABEL_DIFFER: name}),
    ]


def make_differ_plan(
    endpoint: InferenceEndpoint, stable: InferenceVersion, candidate: InferenceVersion
) -> dict[str, Any]:
    """Return the content of ``differ.json``.

    The contract is stable's: what clients rely on. An output that the candidate adds is nobody's loss.
    """
    tolerance = candidate.traffic.shadow.tolerance
    timeout = max(stable.guardrails.timeout_ms, candidate.guardrails.timeout_ms) + _BESIDE_TIMEOUT_MS
    places = candidate.guardrails.max_concurrency or _CONCURRENCY
    return {
        "namespace": endpoint.namespace,
        "endpoint": endpoint.name,
        "stable": _side(stable),
        "candidate": _side(candidate),
        "outputs": [{"name": t.name, "datatype": t.datatype, "shape": list(t.shape)} for t in stable.outputs],
        "tolerance": {"absolute": tolerance.absolute, "relative": tolerance.relative},
        "limits": {
            "concurrency": min(places, _CONCURRENCY),
            "queue": _QUEUE,
            "memoryBytes": _bodies_bytes(stable),
            "requestBytes": stable.guardrails.max_request_bytes,
            "responseBytes": _RESPONSE_BYTES,
            "timeoutSeconds": timeout / 1000,
        },
        "selfShare": _SELF_SHARE,
        "sampleSize": _SAMPLE_SIZE,
        "keepPayloads": False,
    }


def _side(version: InferenceVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "name": version.name,
        "host": f"{version_name(version.name)}.{version.namespace}.svc",
        "httpPort": HTTP_PORT,
        "grpcPort": GRPC_PORT,
    }


def _bodies_bytes(stable: InferenceVersion) -> int:
    """Return what all bodies may have together: two of the largest requests and four of the largest answers."""
    return 2 * stable.guardrails.max_request_bytes + 4 * _RESPONSE_BYTES


def _deployment(endpoint: InferenceEndpoint, pod_spec: Object) -> Object:
    name = differ_name(endpoint.name)
    metadata = endpoint_metadata(endpoint, name)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": {LABEL_DIFFER: name}},
            # The pod of a candidate that is no longer compared goes before the next one comes.
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": {**metadata["labels"], LABEL_DIFFER: name}, "annotations": dict(_SCRAPE)},
                "spec": pod_spec,
            },
        },
    }


def _pod_spec(stable: InferenceVersion, candidate: InferenceVersion, config_map: str, settings: Settings) -> Object:
    spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(stable, settings)],
        "volumes": [{"name": "config", "configMap": {"name": config_map, "defaultMode": 0o444}}],
    }
    secrets = dict.fromkeys((*candidate.runtime.image_pull_secrets, *stable.runtime.image_pull_secrets))
    return spec | ({"imagePullSecrets": [{"name": name} for name in secrets]} if secrets else {})


def _container(stable: InferenceVersion, settings: Settings) -> Object:
    well = {"httpGet": {"path": "/healthz", "port": "metrics"}}
    memory = _PROCESS_BYTES + 2 * _bodies_bytes(stable) + _PARSED_BYTES
    return {
        "name": "differ",
        "image": settings.differ_image or settings.fetch_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": ["python3", "-m", "inferenceversion_operator.differ"],
        "args": [f"--plan={CONFIG_DIR}/{PLAN_KEY}"],
        "ports": [
            {"name": "http", "containerPort": HTTP, "protocol": "TCP"},
            {"name": "grpc", "containerPort": GRPC, "protocol": "TCP"},
            {"name": "metrics", "containerPort": PROBES, "protocol": "TCP"},
        ],
        "startupProbe": well | {"periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": well | {"periodSeconds": 5, "failureThreshold": 2},
        "livenessProbe": well | {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": str(memory)}},
        "securityContext": RESTRICTED,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "config", "mountPath": CONFIG_DIR, "readOnly": True}],
    }
