"""Views of both kinds: every field arrives, defaults are there, and nothing that the schema accepts is too much."""

from dataclasses import fields, is_dataclass

import pytest

from inferenceversion_operator.api import types
from inferenceversion_operator.api.defaults import with_defaults
from inferenceversion_operator.api.labels import FIELD_MANAGER, LABEL_MANAGED_BY
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.schema import validate
from tests.bad_input.table import base, cases
from tests.support.merge_patch import merged

HASH = f"sha256:{'a' * 64}"
TENSOR = {"name": "T", "datatype": "FP32", "shape": [-1, 3]}
MINIMAL = {
    "apiVersion": "inferenceversion.io/v1alpha1",
    "kind": "InferenceVersion",
    "metadata": {"name": "a"},
    "spec": {
        "endpoint": "e",
        "version": "1.0.0",
        "model": {"name": "m", "framework": "f", "format": "python", "source": "pvc://c/p", "weightHash": HASH},
        "runtime": {"image": f"i@{HASH}"},
        "contract": {"inputs": [TENSOR], "outputs": [TENSOR]},
    },
}
TRAFFIC = {
    "strategy": "ShadowThenCanary",
    "interval": "500ms",
    "maxInconclusive": 12,
    "shadow": {
        "percent": 25,
        "minRequests": 2000,
        "minDuration": "1h30m",
        "maxMismatch": "0.05%",
        "maxDrift": "0.15",
        "tolerance": {"absolute": "0.001", "relative": "0.01"},
    },
    "canary": {
        "steps": [
            {"weight": 5, "minDuration": "10m", "minRequests": 500},
            {"weight": 50, "approval": {"timeout": "24h", "onTimeout": "Promote"}},
        ],
        "stickyHeader": "x-session-hash",
        "maxLatencyRatio": "1.2",
    },
    "gates": [{"name": "clicks", "promql": "sum(clicks)", "min": "-0.5", "max": "100"}],
}
FULL = merged(
    base(),
    {
        "metadata": {
            "namespace": "news", "uid": "u", "generation": 3,
            "creationTimestamp": "2026-11-30T10:00:00Z", "deletionTimestamp": "2026-11-30T11:00:00Z",
        },
        "spec": {
            "model": {"sourceSecretRef": {"name": "store"}, "inputs": [TENSOR], "outputs": [TENSOR]},
            "runtime": {
                "nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}], "imagePullSecrets": [{"name": "pull"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}], "serviceAccountName": "sa", "runtimeClassName": "nvidia",
            },
            "triton": {
                "backend": "onnxruntime", "pipeline": "Ensemble", "optimization": {"tensorrt": {"precision": "FP16"}},
                "warmup": {"enabled": False}, "parameters": {"a": "b"},
            },
            "guardrails": {"maxConcurrency": 64},
            "traffic": TRAFFIC,
        },
        "status": {"role": "Stable"},
    },
)  # fmt: skip


def test_minimal_manifest_gets_every_default():
    assert validate(MINIMAL) == []
    version = parse_version(MINIMAL)
    assert version.triton == types.Triton()
    assert version.guardrails == types.Guardrails(max_request_bytes=2097152, timeout_ms=5000)
    assert version.autoscaling == types.Autoscaling()
    assert version.slo == types.Slo()
    assert version.traffic == types.Traffic()
    assert (version.preprocessor, version.postprocessor) == (None, None)


def unset(view, path=""):
    """Yield the fields of a view that hold nothing."""
    for field in fields(view):
        value = getattr(view, field.name)
        if is_dataclass(value):
            yield from unset(value, f"{path}{field.name}.")
        elif value in (None, (), {}, ""):
            yield path + field.name


def test_full_manifest_fills_every_field_of_the_view():
    assert validate(FULL) == []
    assert list(unset(parse_version(FULL))) == []


def test_full_manifest_in_detail():
    version = parse_version(FULL)
    assert version.runtime.limits == {"cpu": "2", "memory": "16Gi", "nvidia.com/gpu": "1"}
    assert version.runtime.env == {"LOG_LEVEL": "info"}
    assert version.triton.max_queue_delay_ms == 10
    assert version.slo == types.Slo(p95_ms=80, p99_ms=100, error_rate=0.001)
    assert version.autoscaling == types.Autoscaling(min_replicas=1, max_replicas=8, target_qps=400, target_p95_ms=80)
    assert version.preprocessor == types.Part("v3.2.1", "preprocessor", FULL["spec"]["preprocessor"]["configHash"])
    assert version.model.inputs == (types.Tensor("T", "FP32", (-1, 3)),)
    assert version.digest.startswith("sha256:")
    assert version.deleting


def test_traffic_in_detail():
    assert parse_version(FULL).traffic == types.Traffic(
        strategy=types.Strategy.SHADOW_THEN_CANARY,
        shadow=types.Shadow(
            percent=25,
            min_requests=2000,
            min_duration_s=5400,
            max_mismatch=0.0005,
            max_drift=0.15,
            tolerance=types.Tolerance(absolute=0.001, relative=0.01),
        ),
        canary=types.Canary(
            steps=(
                types.Step(weight=5, min_duration_s=600, min_requests=500),
                types.Step(weight=50, approval=types.Approval(timeout_s=86400, on_timeout="Promote")),
            ),
            sticky_header="x-session-hash",
            max_latency_ratio=1.2,
        ),
        gates=(types.Gate("clicks", "sum(clicks)", maximum=100, minimum=-0.5),),
        interval_s=0.5,
        max_inconclusive=12,
    )


@pytest.mark.parametrize(
    ("traffic", "view"),
    [
        ({"strategy": "Shadow"}, types.Traffic(types.Strategy.SHADOW)),
        ({"strategy": "Shadow", "shadow": {}}, types.Traffic(types.Strategy.SHADOW)),
        (
            {"strategy": "Canary", "canary": {"steps": [{"weight": 5}]}},
            types.Traffic(types.Strategy.CANARY, canary=types.Canary((types.Step(5),))),
        ),
        (
            {"strategy": "Canary", "canary": {"steps": [{"weight": 5, "approval": {}}]}},
            types.Traffic(types.Strategy.CANARY, canary=types.Canary((types.Step(5, approval=types.Approval()),))),
        ),
        (
            {"strategy": "Shadow", "shadow": {"tolerance": {"relative": "0.01"}}},
            types.Traffic(types.Strategy.SHADOW, types.Shadow(tolerance=types.Tolerance(relative=0.01))),
        ),
        (
            {"gates": [{"name": "a", "promql": "a", "max": "0"}]},  # no minimum is not a minimum of 0
            types.Traffic(gates=(types.Gate("a", "a", maximum=0, minimum=None),)),
        ),
    ],
    ids=str,
)
def test_the_defaults_of_the_view_are_those_of_the_schema(traffic, view):
    assert parse_version(merged(MINIMAL, {"spec": {"traffic": traffic}})).traffic == view


@pytest.mark.parametrize(("text", "share"), [("0%", 0), ("100%", 1), ("0.1%", 0.001), ("1%", 0.01), ("7.25%", 0.0725)])
def test_a_share_is_a_fraction(text, share):
    shadow = {"strategy": "Shadow", "shadow": {"maxMismatch": text}}
    version = parse_version(merged(MINIMAL, {"spec": {"traffic": shadow, "slo": {"errorRate": text}}}))
    assert (version.traffic.shadow.max_mismatch, version.slo.error_rate) == (share, share)


@pytest.mark.parametrize(
    ("scaling", "most"),
    [({"minReplicas": 3}, 3), ({"minReplicas": 0, "provider": "keda"}, 1), ({"maxReplicas": 5}, 5)],
    ids=str,
)
def test_most_replicas(scaling, most):
    assert parse_version(merged(MINIMAL, {"spec": {"autoscaling": scaling}})).autoscaling.max_replicas == most


@pytest.mark.parametrize(("text", "qps"), [(400, 400), ("500m", 0.5), ("0.5", 0.5), ("2k", 2000)])
def test_target_qps(text, qps):
    assert parse_version(merged(MINIMAL, {"spec": {"autoscaling": {"targetQPS": text}}})).autoscaling.target_qps == qps


def test_dynamic_batching_without_a_delay_is_on():
    triton = {"maxBatchSize": 8, "dynamicBatching": {}}
    assert parse_version(merged(MINIMAL, {"spec": {"triton": triton}})).triton.max_queue_delay_ms == 0


def test_stored_object_and_manifest_are_the_same_view():
    assert parse_version(with_defaults("InferenceVersion", FULL)) == parse_version(FULL)


@pytest.mark.parametrize(
    "case", [c for c in cases("lint", "condition") if c.manifest["kind"] == "InferenceVersion"], ids=lambda c: c.name
)
def test_what_the_schema_accepts_is_read(case):
    assert parse_version(case.manifest).version == case.manifest["spec"]["version"]


def test_what_it_does_not_accept_is_a_value_error_or_key_error():
    with pytest.raises((KeyError, TypeError, ValueError)):
        parse_version(merged(MINIMAL, {"spec": {"guardrails": {"timeout": "soon"}}}))


def test_endpoint():
    endpoint = parse_endpoint(base("InferenceEndpoint"))
    assert endpoint.pin == "2.4.0"
    assert endpoint.gateway is not None
    assert endpoint.gateway.hostnames == ("news.example.com",)
    (parent,) = endpoint.gateway.parent_refs
    assert parent == {
        "group": "gateway.networking.k8s.io",
        "kind": "Gateway",
        "namespace": "gateways",
        "name": "inference",
    }


@pytest.mark.parametrize("spec", [{}, {"spec": {}}, {"spec": None}], ids=str)
def test_endpoint_without_a_spec(spec):
    endpoint = parse_endpoint({"metadata": {"name": "e"}, **spec})
    assert (endpoint.pin, endpoint.gateway, endpoint.warm, endpoint.history, endpoint.paused) == (
        None,
        None,
        1,
        10,
        False,
    )


@pytest.mark.parametrize(
    ("labels", "managed"), [({LABEL_MANAGED_BY: FIELD_MANAGER}, True), ({LABEL_MANAGED_BY: "Helm"}, False), ({}, False)]
)
def test_endpoint_made_by_the_operator(labels, managed):
    assert parse_endpoint({"metadata": {"name": "e", "labels": labels}}).managed is managed
