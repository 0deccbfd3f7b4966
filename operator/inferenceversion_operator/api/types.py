"""Typed, frozen views of both custom resources; ``parse`` fills them from what the API server stores.

Sizes are bytes, durations milliseconds, rates fractions (0.001 is 0.1 %). The CRDs in ``crds/`` are the source
of truth: a view holds what the rest of the code reads, with the schema's defaults applied. Nothing acts upon
``cuda``, ``min_driver`` and ``autoscaling`` beyond ``min_replicas`` yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

type_map = Mapping[str, str]


class Strategy(StrEnum):
    IMMEDIATE = "Immediate"
    SHADOW = "Shadow"
    CANARY = "Canary"
    SHADOW_THEN_CANARY = "ShadowThenCanary"


class Role(StrEnum):
    """What a version is to its endpoint."""

    IDLE = "Idle"  # exists, was never wanted: nothing runs
    CANDIDATE = "Candidate"
    STABLE = "Stable"
    WARM = "Warm"
    RETIRED = "Retired"  # was stable once; scaled to zero
    FAILED = "Failed"


class Pipeline(StrEnum):
    SINGLE = "Single"
    ENSEMBLE = "Ensemble"


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    datatype: str  # KServe v2 / Triton: BYTES, FP32, INT64 ...
    shape: tuple[int, ...]  # without the batch dimension; -1 is any size


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    framework: str
    format: str
    source: str
    weight_hash: str
    opset: int | None = None
    source_secret: str | None = None  # name of a Secret in the same namespace
    inputs: tuple[Tensor, ...] = ()  # the graph's own tensors; for Ensemble
    outputs: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Preprocessor or postprocessor: files of their own beside the weights."""

    version: str
    path: str
    config_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Runtime:
    image: str
    cuda: str | None = None
    min_driver: str | None = None
    limits: type_map = field(default_factory=dict)  # canonical quantities
    requests: type_map = field(default_factory=dict)
    env: type_map = field(default_factory=dict)
    node_selector: type_map = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    resource_claims: tuple[Mapping[str, Any], ...] = ()
    service_account: str | None = None
    runtime_class: str | None = None


@dataclass(frozen=True, slots=True)
class Triton:
    max_batch_size: int = 0
    pipeline: Pipeline = Pipeline.SINGLE
    backend: str | None = None  # None: from model.format
    preferred_batch_sizes: tuple[int, ...] = ()
    max_queue_delay_ms: float | None = None  # None: no dynamic batching
    instance_count: int = 1
    instance_kind: str = "KIND_AUTO"
    tensorrt_precision: str | None = None
    warmup: bool = True
    parameters: type_map = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guardrails:
    max_request_bytes: int
    timeout_ms: int
    max_feature_count: int | None = None
    max_concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Slo:
    p95_ms: float | None = None
    p99_ms: float | None = None
    error_rate: float | None = None


@dataclass(frozen=True, slots=True)
class Autoscaling:
    min_replicas: int = 1
    max_replicas: int = 1
    target_qps: float | None = None
    target_p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may be apart: ``|a - b| <= absolute + relative * |b|``."""

    absolute: float = 0.0
    relative: float = 0.0


@dataclass(frozen=True, slots=True)
class Shadow:
    percent: int = 10
    min_requests: int = 100  # compared ones
    min_duration_s: float = 300.0
    max_mismatch: float = 0.01
    max_drift: float = 0.2  # PSI
    tolerance: Tolerance = Tolerance(absolute=1e-4)


@dataclass(frozen=True, slots=True)
class Approval:
    """A step waits for a person's yes once its gates pass."""

    timeout_s: float | None = None  # None: for ever
    on_timeout: str = "Fail"  # or Promote


@dataclass(frozen=True, slots=True)
class Step:
    weight: int
    min_duration_s: float = 60.0
    min_requests: int = 100
    approval: Approval | None = None


@dataclass(frozen=True, slots=True)
class Canary:
    steps: tuple[Step, ...] = ()
    sticky_header: str | None = None  # requests with this header (a hash in hex) stay on one version
    max_latency_ratio: float = 1.5  # of the candidate's p95 and p99 to stable's


@dataclass(frozen=True, slots=True)
class Gate:
    """The user's own query and its bounds."""

    name: str
    promql: str
    maximum: float | None = None
    minimum: float | None = None


@dataclass(frozen=True, slots=True)
class Traffic:
    """How a version takes over."""

    strategy: Strategy = Strategy.IMMEDIATE
    shadow: Shadow = Shadow()
    canary: Canary = Canary()
    gates: tuple[Gate, ...] = ()
    interval_s: float = 10.0  # between two looks at the gates
    max_inconclusive: int = 30  # intervals without enough data before the release is Stalled


@dataclass(frozen=True, slots=True)
class InferenceVersion:
    namespace: str
    name: str
    uid: str
    generation: int
    endpoint: str
    version: str
    model: Model
    runtime: Runtime
    triton: Triton
    guardrails: Guardrails
    slo: Slo
    autoscaling: Autoscaling
    preprocessor: Part | None = None
    postprocessor: Part | None = None
    inputs: tuple[Tensor, ...] = ()  # contract
    outputs: tuple[Tensor, ...] = ()
    traffic: Traffic = Traffic()
    digest: str = ""  # sha256:... of the canonical snapshot
    created: str = ""  # metadata.creationTimestamp
    deleting: bool = False
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, Part]:
        """What lies beside the weights and is declared, by the name of its field."""
        both = {"preprocessor": self.preprocessor, "postprocessor": self.postprocessor}
        return {name: part for name, part in both.items() if part}


@dataclass(frozen=True, slots=True)
class Gateway:
    parent_refs: tuple[Mapping[str, Any], ...] = ()
    hostnames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InferenceEndpoint:
    namespace: str
    name: str
    uid: str
    generation: int
    pin: str | None = None
    gateway: Gateway | None = None
    warm: int = 1
    history: int = 10
    paused: bool = False
    managed: bool = False  # made by the operator: it goes with its last version
    action: str | None = None  # what somebody asked for by annotation: promote or abort
    created: str = ""
    deleting: bool = False
    status: Mapping[str, Any] = field(default_factory=dict)
