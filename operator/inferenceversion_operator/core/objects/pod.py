"""The pod of a version: stage and fetch as init containers, the guard as native sidecar, Triton as main container."""

import math

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.common import Object
from inferenceversion_operator.core.objects.guard import drain_path, guard_args, guard_memory_bytes
from inferenceversion_operator.core.objects.source import source_mount, source_volume, stage_container
from inferenceversion_operator.core.snapshot import Settings

CONFIG_DIR = "/etc/inferenceversion"
HTTP, GRPC, PROBES, TRITON_METRICS = 8080, 8081, 9902, 8002
USER = 65532
# Until every Gateway and kube-proxy has heard that the pod is leaving; then what is in flight may use its timeout.
_ENDPOINT_PROPAGATION_S = 5
_TRITON_EXIT_S = 10
# A large model may load for long: the startup probe waits this many seconds before the kubelet restarts Triton.
_LOAD_DEADLINE_S = 1800

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def make_pod_spec(version: InferenceVersion, config_map: str, settings: Settings) -> Object:
    """Return the pod's spec; it passes the ``restricted`` Pod Security Standard."""
    runtime = version.runtime
    spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": drain_seconds(version) + _TRITON_EXIT_S + 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [
            *stage_container(version, RESTRICTED),
            _fetch(version, settings),
            _guard(version, settings),
        ],
        "containers": [_triton(version)],
        "volumes": [
            {"name": "config", "configMap": {"name": config_map, "defaultMode": 0o444}},
            {"name": "data", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            *source_volume(version),
        ],
    }
    optional = {
        "nodeSelector": dict(runtime.node_selector),
        "tolerations": [dict(t) for t in runtime.tolerations],
        "imagePullSecrets": [{"name": name} for name in runtime.image_pull_secrets],
        "resourceClaims": [{k: v for k, v in claim.items() if k != "request"} for claim in runtime.resource_claims],
        "serviceAccountName": runtime.service_account,
        "runtimeClassName": runtime.runtime_class,
    }
    return spec | {key: value for key, value in optional.items() if value}


def drain_seconds(version: InferenceVersion) -> int:
    """Return how long Triton goes on after the pod was told to stop, in whole seconds."""
    return _ENDPOINT_PROPAGATION_S + math.ceil(version.guardrails.timeout_ms / 1000)


def _fetch(version: InferenceVersion, settings: Settings) -> Object:
    container: Object = {
        "name": "fetch",
        "image": settings.fetch_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": ["python3", "-m", "inferenceversion_operator.fetch"],
        "args": [
            f"--plan={CONFIG_DIR}/fetch.json",
            f"--configs={CONFIG_DIR}",
            "--models=/data/models",
            "--work=/data/work",
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": RESTRICTED,
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_DIR, "readOnly": True},
            {"name": "data", "mountPath": "/data"},
            *source_mount(version),
        ],
    }
    if version.model.source_secret:
        container["envFrom"] = [{"secretRef": {"name": version.model.source_secret}}]
    return container


def _guard(version: InferenceVersion, settings: Settings) -> Object:
    ready = {"httpGet": {"path": "/ready", "port": "guard-metrics"}}
    return {
        "name": "guard",
        "image": settings.guard_image,
        "imagePullPolicy": settings.image_pull_policy,
        "restartPolicy": "Always",
        "command": ["envoy"],
        "args": guard_args(f"{CONFIG_DIR}/envoy.yaml"),
        "ports": [
            {"name": "http", "containerPort": HTTP, "protocol": "TCP"},
            {"name": "grpc", "containerPort": GRPC, "protocol": "TCP"},
            {"name": "guard-metrics", "containerPort": PROBES, "protocol": "TCP"},
        ],
        # From here on answers say that the connection closes, while requests are still served.
        "lifecycle": {"preStop": {"httpGet": {"path": drain_path(version), "port": PROBES}}},
        "startupProbe": ready | {"periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": ready | {"periodSeconds": 5, "failureThreshold": 2},
        "resources": {
            "requests": {"cpu": "50m", "memory": "64Mi"},
            "limits": {"memory": str(guard_memory_bytes(version))},
        },
        "securityContext": RESTRICTED,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_DIR, "readOnly": True},
        ],
    }


def _triton(version: InferenceVersion) -> Object:
    runtime = version.runtime
    resources: Object = {"limits": dict(runtime.limits)}
    if runtime.requests:
        resources["requests"] = dict(runtime.requests)
    if runtime.resource_claims:
        used = ("name", "request")  # one request of the claim, or all of it
        resources["claims"] = [{k: claim[k] for k in used if claim.get(k)} for claim in runtime.resource_claims]
    # Through the guard's probe port: Ready means that the whole road to Triton is open.
    ready = {"httpGet": {"path": "/v2/health/ready", "port": PROBES}, "timeoutSeconds": 5}
    live = {"httpGet": {"path": "/v2/health/live", "port": PROBES}, "timeoutSeconds": 5}
    container: Object = {
        "name": "triton",
        "image": runtime.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["tritonserver"],
        "args": [
            "--model-repository=/models",
            "--http-address=127.0.0.1",
            "--http-port=8000",
            "--grpc-address=127.0.0.1",
            "--grpc-port=8001",
            "--metrics-address=0.0.0.0",
            f"--metrics-port={TRITON_METRICS}",
            "--disable-auto-complete-config",
            # Its tables would push the cause of a failure out of the termination message.
            "--log-info=false",
            f"--exit-timeout-secs={_TRITON_EXIT_S}",
        ],
        "ports": [{"name": "metrics", "containerPort": TRITON_METRICS, "protocol": "TCP"}],
        "resources": resources,
        "startupProbe": ready | {"periodSeconds": 1, "failureThreshold": _LOAD_DEADLINE_S},
        "readinessProbe": ready | {"periodSeconds": 2, "failureThreshold": 2},
        "livenessProbe": live | {"periodSeconds": 10, "failureThreshold": 6},
        "lifecycle": {"preStop": {"sleep": {"seconds": drain_seconds(version)}}},
        "securityContext": RESTRICTED,
        # The tail of Triton's log is how its load error gets into the condition.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "data", "mountPath": "/models", "subPath": "models", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "shm", "mountPath": "/dev/shm"},
        ],
    }
    if runtime.env:
        # The kubelet makes "$" of "$$" and expands $(NAME): what is written is what Triton gets.
        env = {name: value.replace("$", "$$") for name, value in runtime.env.items()}
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    return container
