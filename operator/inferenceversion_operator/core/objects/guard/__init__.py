"""The guard: an Envoy beside Triton whose whole configuration is a static bootstrap, made from one version."""

from inferenceversion_operator.core.objects.guard.bootstrap import (
    GUARD_CONFIG_KEY,
    guard_args,
    guard_memory_bytes,
    make_guard_bootstrap,
    make_guard_yaml,
)
from inferenceversion_operator.core.objects.guard.routes import HEADER_TRAFFIC, TRAFFIC_SHADOW, drain_path
from inferenceversion_operator.core.objects.guard.stats import metric_labels

__all__ = [
    "GUARD_CONFIG_KEY",
    "HEADER_TRAFFIC",
    "TRAFFIC_SHADOW",
    "drain_path",
    "guard_args",
    "guard_memory_bytes",
    "make_guard_bootstrap",
    "make_guard_yaml",
    "metric_labels",
]
