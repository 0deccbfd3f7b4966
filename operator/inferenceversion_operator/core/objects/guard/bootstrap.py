"""The whole bootstrap, and what the container that runs it needs."""

from typing import Any

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.guard.clusters import ADMIN_PORT, clusters
from inferenceversion_operator.core.objects.guard.envoy import LOOPBACK, Config, extension, socket
from inferenceversion_operator.core.objects.guard.limits import CONNECTIONS, Limits, container_bytes, limits_of
from inferenceversion_operator.core.objects.guard.listeners import grpc_listener, http_listener, probe_listener
from inferenceversion_operator.core.objects.guard.stats import stats_config
from inferenceversion_operator.core.objects.guard.text import to_yaml

GUARD_CONFIG_KEY = "envoy.yaml"


def make_guard_bootstrap(version: InferenceVersion) -> dict[str, Any]:
    """Return Envoy's bootstrap for the version."""
    limits = limits_of(version)
    return {
        "admin": {"address": socket(LOOPBACK, ADMIN_PORT)},
        "stats_flush_interval": "1s",  # histograms are as old as this when scraped; the default is 5 s
        "stats_config": stats_config(version, limits),
        "overload_manager": _overload_manager(limits),
        "static_resources": {
            "listeners": [
                http_listener(version, limits),
                grpc_listener(version, limits),
                probe_listener(version),
            ],
            "clusters": clusters(limits),
        },
    }


def make_guard_yaml(version: InferenceVersion) -> str:
    """Return the bootstrap as YAML, the same bytes for the same version."""
    return to_yaml(make_guard_bootstrap(version))


def guard_args(config_path: str) -> list[str]:
    """Return Envoy's arguments.

    One worker is enough for one Triton, there is nothing to restart into, and a drain tells every client at once.
    """
    options = ["--concurrency", "1", "--disable-hot-restart", "--drain-strategy", "immediate", "-l", "warning"]
    return ["-c", config_path, *options]


def guard_memory_bytes(version: InferenceVersion) -> int:
    """Return the memory limit of the guard's container, in bytes."""
    return container_bytes(limits_of(version))


def _overload_manager(limits: Limits) -> Config:
    """Return what Envoy does before the kernel kills it: refuse new requests, then new connections."""
    heap = "envoy.resource_monitors.fixed_heap"
    connections = "envoy.resource_monitors.global_downstream_max_connections"
    return {
        "refresh_interval": "0.25s",
        "resource_monitors": [
            extension(
                heap,
                "envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig",
                max_heap_size_bytes=limits.heap_bytes,
            ),
            extension(
                connections,
                "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
                max_active_downstream_connections=CONNECTIONS,
            ),
        ],
        "actions": [
            _action("envoy.overload_actions.shrink_heap", heap, 0.85),
            _action("envoy.overload_actions.disable_http_keepalive", heap, 0.9),
            _action("envoy.overload_actions.stop_accepting_requests", heap, 0.95),
            _action("envoy.overload_actions.stop_accepting_connections", heap, 0.98),
        ],
    }


def _action(name: str, monitor: str, value: float) -> Config:
    return {"name": name, "triggers": [{"name": monitor, "threshold": {"value": value}}]}
