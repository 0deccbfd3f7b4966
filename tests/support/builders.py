"""Short spellings of the typed views, for tables of decisions."""

import hashlib
from dataclasses import replace
from typing import Any

from inferenceversion_operator.api.types import (
    Autoscaling,
    Guardrails,
    InferenceEndpoint,
    InferenceVersion,
    Model,
    Part,
    Runtime,
    Slo,
    Tensor,
    Triton,
)
from inferenceversion_operator.core.snapshot import Settings

ZEROS = "sha256:" + "0" * 64
NAMESPACE = "news"
ENDPOINT = "sentiment"
SETTINGS = Settings(
    guard_image="envoy@" + ZEROS,
    fetch_image="operator@" + ZEROS,
    gateway_parent_refs=({"name": "inference", "namespace": "gateways"},),
    route_kinds=frozenset({"HTTPRoute", "GRPCRoute"}),
)


def a_version(version: str = "2.4.0", **changes: Any) -> InferenceVersion:
    """Return the news-sentiment version of the running example."""
    made = InferenceVersion(
        namespace=NAMESPACE,
        name=f"sentiment-{version}",
        uid=f"uid-{version}",
        generation=1,
        endpoint=ENDPOINT,
        version=version,
        model=Model("news_sentiment", "onnxruntime_1.20", "onnx", "image:///opt/news-sentiment", ZEROS, opset=17),
        preprocessor=Part("v3.2.1", "preprocessor", ZEROS),
        postprocessor=Part("score_calibrator_v1.0.0", "postprocessor", ZEROS),
        runtime=Runtime(image="triton@" + ZEROS, limits={"memory": "2Gi"}),
        triton=Triton(
            max_batch_size=32,
            backend="python",
            preferred_batch_sizes=(24,),
            max_queue_delay_ms=10,
            instance_count=2,
            instance_kind="KIND_CPU",
        ),
        guardrails=Guardrails(max_request_bytes=2 << 20, timeout_ms=5000, max_feature_count=500),
        slo=Slo(p95_ms=80, p99_ms=100, error_rate=0.001),
        autoscaling=Autoscaling(min_replicas=1, max_replicas=1),
        inputs=(Tensor("TEXT", "BYTES", (1,)),),
        outputs=(Tensor("LABEL", "BYTES", (1,)), Tensor("SCORES", "FP32", (3,))),
        digest="sha256:" + hashlib.sha256(version.encode()).hexdigest(),
        created=f"2026-11-30T10:00:{len(version):02d}Z",
    )
    return replace(made, **changes)


def an_endpoint(**changes: Any) -> InferenceEndpoint:
    """Return the endpoint as the operator makes it."""
    made = InferenceEndpoint(namespace=NAMESPACE, name=ENDPOINT, uid="uid-endpoint", generation=1, managed=True)
    return replace(made, **changes)
