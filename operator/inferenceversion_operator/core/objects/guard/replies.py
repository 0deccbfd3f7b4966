"""What the guard itself says: which version refuses, why, and when to come back."""

from inferenceversion_operator.api.labels import HEADER_DIGEST, HEADER_VERSION
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.guard.envoy import Config, extension, header, literal
from inferenceversion_operator.core.objects.guard.limits import Limits

RETRY_AFTER_S = "1"

_DEADLINE_EXCEEDED = "4"
_RESOURCE_EXHAUSTED = "8"
_JSON: Config = {"json_format": {"error": "%LOCAL_REPLY_BODY%"}}
# What a client could otherwise use to lengthen its timeout, ask for retries or name statistics.
_STEERING = (
    "x-envoy-expected-rq-timeout-ms",
    "x-envoy-hedge-on-per-try-timeout",
    "x-envoy-max-retries",
    "x-envoy-retriable-header-names",
    "x-envoy-retriable-status-codes",
    "x-envoy-retry-grpc-on",
    "x-envoy-retry-on",
    "x-envoy-upstream-alt-stat-name",
    "x-envoy-upstream-rq-per-try-timeout-ms",
    "x-envoy-upstream-rq-timeout-alt-response",
    "x-envoy-upstream-rq-timeout-ms",
    "x-envoy-upstream-stream-duration-ms",
)


def identity(version: InferenceVersion) -> list[Config]:
    """Return the two headers that every answer carries."""
    return [
        header(HEADER_VERSION, literal(version.version)),
        header(HEADER_DIGEST, literal(version.digest)),
    ]


def identity_filter(version: InferenceVersion) -> Config:
    """Return the filter that stamps answers, and keeps from Triton what clients say of versions and of Envoy.

    It is the first of its chain, so it is the last to see an answer: nothing after it changes the stamp.
    """
    return extension(
        "envoy.filters.http.header_mutation",
        "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
        mutations={
            "request_mutations": [{"remove": name} for name in (HEADER_VERSION, HEADER_DIGEST, *_STEERING)],
            "response_mutations": [{"append": stamp} for stamp in identity(version)],
        },
    )


def http_replies(version: InferenceVersion, limits: Limits) -> Config:
    """Return how the guard's own HTTP answers look: JSON with ``error``, as Triton's do."""
    mappers = [
        _mapper("EQ", 413, [], _too_large(limits)),
        _mapper("EQ", 504, [], _too_slow(limits)),
        *_stamping(version),
    ]
    return {"mappers": mappers, "body_format": _JSON}


def grpc_replies(version: InferenceVersion, limits: Limits) -> Config:
    """Return how the guard's own gRPC answers look; Envoy alone would call a timeout UNAVAILABLE and a size UNKNOWN."""
    mappers = [
        _mapper("EQ", 413, [header("grpc-status", _RESOURCE_EXHAUSTED)], _too_large(limits)),
        _mapper("EQ", 504, [header("grpc-status", _DEADLINE_EXCEEDED)], _too_slow(limits)),
        _mapper("EQ", 408, [header("grpc-status", _DEADLINE_EXCEEDED), *identity(version)]),
        *_stamping(version),
    ]
    return {"mappers": mappers}


def probe_replies(version: InferenceVersion) -> Config:
    return {"mappers": _stamping(version), "body_format": _JSON}


def _stamping(version: InferenceVersion) -> list[Config]:
    """Return the mappers of answers that may never meet the filter: the request was refused before it had headers."""
    stamps = identity(version)
    return [_mapper("EQ", 503, [*stamps, header("retry-after", RETRY_AFTER_S)]), _mapper("GE", 0, stamps)]


def _too_large(limits: Limits) -> str:
    return f"request is larger than guardrails.maxRequestSize ({limits.request_bytes} bytes)"


def _too_slow(limits: Limits) -> str:
    return f"no answer within guardrails.timeout ({limits.timeout_ms} ms)"


def _mapper(comparison: str, status: int, headers: list[Config], body: str | None = None) -> Config:
    value = {"default_value": status, "runtime_key": "guard.replies"}
    mapper: Config = {"filter": {"status_code_filter": {"comparison": {"op": comparison, "value": value}}}}
    if body:
        mapper["body"] = {"inline_string": body}
    if headers:
        mapper["headers_to_add"] = headers
    return mapper
