"""The identity of a snapshot: what runs, not where it is fetched from or placed.

Why so: docs/decisions/20261130-snapshot-digest.md.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from inferenceversion_operator.api import quantity
from inferenceversion_operator.api.defaults import spec_with_defaults
from inferenceversion_operator.api.duration import to_ms

# Fields of spec that do not count. Everything else does, also what is added later.
EXCLUDED = frozenset(
    {
        "endpoint",
        "version",
        "autoscaling",
        "traffic",
        "model.source",
        "model.sourceSecretRef",
        "runtime.imagePullSecrets",
        "runtime.nodeSelector",
        "runtime.tolerations",
        "runtime.serviceAccountName",
    }
)


def _image_digest(image: str) -> str:
    return image.rpartition("@")[2]


def _share(text: str) -> str:
    return f"{(Decimal(text.removesuffix('%')) / 100).normalize():f}"


# Fields that can be written in more than one way. ``*`` is any key of a map.
CANONICAL: Mapping[str, Callable[[Any], Any]] = {
    "runtime.image": _image_digest,
    "runtime.resources.limits.*": quantity.plain,
    "runtime.resources.requests.*": quantity.plain,
    "triton.dynamicBatching.maxQueueDelay": to_ms,
    "triton.dynamicBatching.preferredBatchSizes": sorted,
    "contract.goldens.tolerance.absolute": quantity.plain,
    "contract.goldens.tolerance.relative": quantity.plain,
    "guardrails.maxRequestSize": quantity.plain,
    "guardrails.timeout": to_ms,
    "slo.p95": to_ms,
    "slo.p99": to_ms,
    "slo.errorRate": _share,
}
# Their keys are the user's, so any may stand for ``*``.
_MAPS = frozenset({"runtime.resources.limits", "runtime.resources.requests"})


def snapshot_digest(spec: Mapping[str, Any]) -> str:
    """Return ``sha256:<64 hex>`` of the canonical snapshot of an InferenceVersion's spec, defaults applied or not."""
    return digest_of_filled(spec_with_defaults("InferenceVersion", spec))


def digest_of_filled(spec: Mapping[str, Any]) -> str:
    """Return the digest of a spec that has every default already."""
    return f"sha256:{hashlib.sha256(_json(spec).encode()).hexdigest()}"


def canonical_snapshot(spec: Mapping[str, Any]) -> str:
    """Return what is hashed: JSON with sorted keys and no whitespace, each value in one spelling."""
    return _json(spec_with_defaults("InferenceVersion", spec))


def _json(filled: Mapping[str, Any]) -> str:
    return json.dumps(_canonical(filled, ""), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _canonical(value: Any, path: str) -> Any:
    """Return the value in its one spelling; None where nothing is left of it: empty is the same as unset."""
    if path in CANONICAL:
        return CANONICAL[path](value) or None if isinstance(value, list) else CANONICAL[path](value)
    if isinstance(value, Mapping):
        children = {key: _canonical(child, _below(path, key)) for key, child in value.items() if _counts(path, key)}
        return {key: child for key, child in children.items() if child is not None} or None
    if isinstance(value, list):
        return [_canonical(item, f"{path}[]") for item in value] or None
    return (
        int(value) if isinstance(value, float) else value
    )  # the API server stores 500.0 as 500; no field has fractions


def _below(path: str, key: str) -> str:
    return f"{path}.{'*' if path in _MAPS else key}" if path else key


def _counts(path: str, key: str) -> bool:
    return (f"{path}.{key}" if path else key) not in EXCLUDED
