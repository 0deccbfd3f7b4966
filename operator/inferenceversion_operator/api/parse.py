"""From what the API server stores to typed views: total for every object that its schema accepts."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from inferenceversion_operator.api import quantity
from inferenceversion_operator.api.defaults import spec_with_defaults
from inferenceversion_operator.api.digest import digest_of_filled
from inferenceversion_operator.api.duration import to_ms
from inferenceversion_operator.api.labels import ANNOTATION_ACTION, FIELD_MANAGER, LABEL_MANAGED_BY
from inferenceversion_operator.api.types import (
    Approval,
    Autoscaling,
    Canary,
    Gate,
    Gateway,
    Guardrails,
    InferenceEndpoint,
    InferenceVersion,
    Model,
    Part,
    Pipeline,
    Runtime,
    Shadow,
    Slo,
    Step,
    Strategy,
    Tensor,
    Tolerance,
    Traffic,
    Triton,
)

_Object = Mapping[str, Any]


def parse_version(obj: _Object) -> InferenceVersion:
    """Return the view of an InferenceVersion, defaults applied and its digest computed.

    Raises:
        KeyError, TypeError, ValueError: the API server would not have accepted the object.
    """
    meta = obj["metadata"]
    spec = spec_with_defaults("InferenceVersion", obj["spec"])
    return InferenceVersion(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        generation=meta.get("generation", 1),
        endpoint=spec["endpoint"],
        version=spec["version"],
        model=_model(spec["model"]),
        preprocessor=_part(spec.get("preprocessor")),
        postprocessor=_part(spec.get("postprocessor")),
        runtime=_runtime(spec["runtime"]),
        triton=_triton(spec["triton"]),
        inputs=_tensors(spec["contract"]["inputs"]),
        outputs=_tensors(spec["contract"]["outputs"]),
        guardrails=_guardrails(spec["guardrails"]),
        slo=_slo(spec["slo"]),
        autoscaling=_autoscaling(spec["autoscaling"]),
        traffic=_traffic(spec["traffic"]),
        digest=digest_of_filled(spec),
        created=meta.get("creationTimestamp") or "",
        deleting=bool(meta.get("deletionTimestamp")),
        status=obj.get("status") or {},
    )


def parse_endpoint(obj: _Object) -> InferenceEndpoint:
    """Return the view of an InferenceEndpoint, defaults applied.

    Raises:
        KeyError, TypeError, ValueError: the API server would not have accepted the object.
    """
    meta = obj["metadata"]
    spec = spec_with_defaults("InferenceEndpoint", obj.get("spec") or {})
    return InferenceEndpoint(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        generation=meta.get("generation", 1),
        pin=spec.get("version"),
        gateway=_gateway(spec.get("gateway")),
        warm=spec["retention"]["warm"],
        history=spec["retention"]["history"],
        paused=spec["paused"],
        managed=meta.get("labels", {}).get(LABEL_MANAGED_BY) == FIELD_MANAGER,
        action=meta.get("annotations", {}).get(ANNOTATION_ACTION),
        created=meta.get("creationTimestamp") or "",
        deleting=bool(meta.get("deletionTimestamp")),
        status=obj.get("status") or {},
    )


def _model(model: _Object) -> Model:
    return Model(
        name=model["name"],
        framework=model["framework"],
        format=model["format"],
        source=model["source"],
        weight_hash=model["weightHash"],
        opset=model.get("opset"),
        source_secret=model.get("sourceSecretRef", {}).get("name"),
        inputs=_tensors(model.get("inputs", ())),
        outputs=_tensors(model.get("outputs", ())),
    )


def _tensors(tensors: Iterable[_Object]) -> tuple[Tensor, ...]:
    return tuple(Tensor(t["name"], t["datatype"], tuple(t["shape"])) for t in tensors)


def _part(part: _Object | None) -> Part | None:
    if part is None:
        return None
    return Part(version=part["version"], path=part["path"], config_hash=part.get("configHash"))


def _runtime(runtime: _Object) -> Runtime:
    resources = runtime.get("resources", {})
    return Runtime(
        image=runtime["image"],
        cuda=runtime.get("cuda"),
        min_driver=runtime.get("minDriver"),
        limits=_quantities(resources.get("limits", {})),
        requests=_quantities(resources.get("requests", {})),
        env={variable["name"]: variable["value"] for variable in runtime.get("env", ())},
        node_selector=runtime.get("nodeSelector", {}),
        tolerations=tuple(runtime.get("tolerations", ())),
        image_pull_secrets=tuple(secret["name"] for secret in runtime.get("imagePullSecrets", ())),
        resource_claims=tuple(runtime.get("resourceClaims", ())),
        service_account=runtime.get("serviceAccountName"),
        runtime_class=runtime.get("runtimeClassName"),
    )


def _quantities(resources: Mapping[str, str | int]) -> dict[str, str]:
    return {name: quantity.canonical(amount) for name, amount in resources.items()}


def _triton(triton: _Object) -> Triton:
    batching = triton.get("dynamicBatching")
    return Triton(
        max_batch_size=triton["maxBatchSize"],
        pipeline=Pipeline(triton["pipeline"]),
        backend=triton.get("backend"),
        preferred_batch_sizes=tuple(sorted(batching.get("preferredBatchSizes", ()))) if batching else (),
        max_queue_delay_ms=to_ms(batching["maxQueueDelay"]) if batching else None,
        instance_count=triton["instanceGroup"]["count"],
        instance_kind=triton["instanceGroup"]["kind"],
        tensorrt_precision=triton.get("optimization", {}).get("tensorrt", {}).get("precision"),
        warmup=triton["warmup"]["enabled"],
        parameters=triton.get("parameters", {}),
    )


def _guardrails(guardrails: _Object) -> Guardrails:
    return Guardrails(
        max_request_bytes=int(quantity.parse(guardrails["maxRequestSize"])),
        timeout_ms=to_ms(guardrails["timeout"]),
        max_feature_count=guardrails.get("maxFeatureCount"),
        max_concurrency=guardrails.get("maxConcurrency"),
    )


def _slo(slo: _Object) -> Slo:
    rate = slo.get("errorRate")
    return Slo(
        p95_ms=_ms(slo.get("p95")),
        p99_ms=_ms(slo.get("p99")),
        error_rate=None if rate is None else _share(rate),
    )


def _traffic(traffic: _Object) -> Traffic:
    return Traffic(
        strategy=Strategy(traffic["strategy"]),
        shadow=_shadow(traffic.get("shadow", {})),
        canary=_canary(traffic.get("canary", {})),
        gates=tuple(
            Gate(gate["name"], gate["promql"], _number(gate.get("max")), _number(gate.get("min")))
            for gate in traffic.get("gates", ())
        ),
        interval_s=to_ms(traffic["interval"]) / 1000,
        max_inconclusive=traffic["maxInconclusive"],
    )


def _shadow(shadow: _Object) -> Shadow:
    if not shadow:  # the strategy may need none
        return Shadow()
    tolerance = shadow["tolerance"]
    return Shadow(
        percent=shadow["percent"],
        min_requests=shadow["minRequests"],
        min_duration_s=to_ms(shadow["minDuration"]) / 1000,
        max_mismatch=_share(shadow["maxMismatch"]),
        max_drift=float(shadow["maxDrift"]),
        tolerance=Tolerance(float(tolerance.get("absolute", 0)), float(tolerance.get("relative", 0))),
    )


def _canary(canary: _Object) -> Canary:
    if not canary:
        return Canary()
    steps = tuple(
        Step(step["weight"], to_ms(step["minDuration"]) / 1000, step["minRequests"], _approval(step.get("approval")))
        for step in canary["steps"]
    )
    return Canary(steps, canary.get("stickyHeader"), float(canary["maxLatencyRatio"]))


def _approval(approval: _Object | None) -> Approval | None:
    if approval is None:
        return None
    timeout = approval.get("timeout")
    return Approval(None if timeout is None else to_ms(timeout) / 1000, approval["onTimeout"])


def _share(text: str) -> float:
    return float(Decimal(text.removesuffix("%")) / 100)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _autoscaling(autoscaling: _Object) -> Autoscaling:
    fewest = autoscaling["minReplicas"]
    qps = autoscaling.get("targetQPS")
    return Autoscaling(
        min_replicas=fewest,
        max_replicas=autoscaling.get("maxReplicas", max(1, fewest)),
        target_qps=None if qps is None else float(quantity.parse(qps)),
        target_p95_ms=_ms(autoscaling.get("targetP95")),
    )


def _ms(duration: str | None) -> int | None:
    return None if duration is None else to_ms(duration)


def _gateway(gateway: _Object | None) -> Gateway | None:
    if gateway is None:
        return None
    return Gateway(tuple(gateway.get("parentRefs", ())), tuple(gateway.get("hostnames", ())))
