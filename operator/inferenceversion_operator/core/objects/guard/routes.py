"""Which of Triton's paths are let through: inference, health and metadata; nothing that changes what runs."""

from inferenceversion_operator.api.names import short_hash
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.guard.envoy import Config, duration, literal, typed
from inferenceversion_operator.core.objects.guard.limits import STREAM_AGE_MS, Limits

# The seam for shadow traffic: requests with this header are counted in a virtual cluster of their own.
HEADER_TRAFFIC = "x-inference-traffic"
TRAFFIC_SHADOW = "shadow"

LUA = "envoy.extensions.filters.http.lua.v3.Lua"
_NAME = r"[A-Za-z0-9_.-]+"
_MODEL_PATHS = rf"/v2/models/{_NAME}(/versions/[0-9]+)?(/(infer|generate|generate_stream|ready|config|stats))?"
_STREAM_PATHS = rf"/v2/models/{_NAME}(/versions/[0-9]+)?/generate_stream"
_SERVER_PATHS = r"/v2(/health/(live|ready)|/models/stats)?"
# They change what the pod runs, how it logs or what memory it reads: it must stay what its digest says.
_CONTROL_PATHS = (
    "/v2/repository",
    "/v2/systemsharedmemory",
    "/v2/cudasharedmemory",
    "/v2/trace",
    "/v2/logging",
)
_MODEL_CONTROL_PATHS = rf"/v2/models/{_NAME}(/versions/[0-9]+)?/trace(/.*)?"
_CLOSED = "closed: a version stays what its digest says"
_SERVICE = "/inference.GRPCInferenceService/"
_UNARY_METHODS = (
    "ModelInfer",
    "ModelReady",
    "ModelMetadata",
    "ModelConfig",
    "ModelStatistics",
    "ServerLive",
    "ServerReady",
    "ServerMetadata",
)
_STREAM_METHOD = "ModelStreamInfer"


def http_routes(limits: Limits, *, streams: bool) -> list[Config]:
    """Return the routes of HTTP. ``streams``: the model is decoupled, so an answer may come in many pieces."""
    event_stream = {"match": {"safe_regex": {"regex": _STREAM_PATHS}}, "route": _streaming("triton_http", limits)}
    return [
        *([event_stream] if streams else []),
        _to_triton({"safe_regex": {"regex": _MODEL_PATHS}}, "triton_http", limits),
        _to_triton({"safe_regex": {"regex": _SERVER_PATHS}}, "triton_http", limits),
        *(refuse({"prefix": path}, 403, _CLOSED) for path in _CONTROL_PATHS),
        refuse({"safe_regex": {"regex": _MODEL_CONTROL_PATHS}}, 403, _CLOSED),
        refuse({"prefix": "/"}, 404, "no such path; inference is under /v2/models/"),
    ]


def grpc_routes(limits: Limits, *, streams: bool) -> list[Config]:
    """Return the routes of gRPC. ``streams``: the model is decoupled, so its clients keep a stream open."""
    open_stream = [_open_stream(limits)] if streams else []
    return [
        *(_to_triton({"path": f"{_SERVICE}{method}"}, "triton_grpc", limits) for method in _UNARY_METHODS),
        _to_triton({"path": "/grpc.health.v1.Health/Check"}, "triton_grpc", limits),
        *open_stream,
        refuse({"prefix": _SERVICE}, 403, _CLOSED),
        refuse({"prefix": "/"}, 404, "no such method"),
    ]


def drain_path(version: InferenceVersion) -> str:
    """Return the path of the probe port by which the kubelet asks the guard to send its clients elsewhere.

    A kubelet can't send secrets, so the path is one: whoever may not read the version can't tell its weights' hash.
    """
    return f"/drain/{short_hash(f'drain {version.model.weight_hash} {literal(version.digest)}', 32)}"


def drain_route(version: InferenceVersion) -> Config:
    """Return the route of ``drain_path``: from now on ``Connection: close`` and GOAWAY, yet every request is served.

    Envoy's admin wants a POST and a preStop hook sends a GET; one line of Lua is what can change a method.
    """
    lua = "function envoy_on_request(handle) handle:headers():replace(':method', 'POST') end"
    per_route = typed(f"{LUA}PerRoute", source_code={"inline_string": lua})
    return {
        "match": {"path": drain_path(version)},
        "route": {"cluster": "admin", "prefix_rewrite": "/drain_listeners?graceful&skip_exit"},
        "typed_per_filter_config": {"envoy.filters.http.lua": per_route},
    }


def virtual_host(name: str, routes: list[Config]) -> Config:
    """Return a virtual host that takes every name, counting shadow traffic apart (live is ``other``)."""
    shadow = {"name": HEADER_TRAFFIC, "string_match": {"exact": TRAFFIC_SHADOW}}
    return {
        "name": name,
        "domains": ["*"],
        "virtual_clusters": [{"name": TRAFFIC_SHADOW, "headers": [shadow]}],
        "routes": routes,
    }


def refuse(match: Config, status: int, reason: str) -> Config:
    return {"match": match, "direct_response": {"status": status, "body": {"inline_string": reason}}}


def _to_triton(match: Config, cluster: str, limits: Limits) -> Config:
    """Return a route with the version's timeout; it counts from the moment the request is whole."""
    return {"match": match, "route": {"cluster": cluster, "timeout": duration(limits.timeout_ms)}}


def _open_stream(limits: Limits) -> Config:
    """Return the route of a stream that clients keep open: its body can't be held back to be measured."""
    per_route = typed("envoy.extensions.filters.http.buffer.v3.BufferPerRoute", disabled=True)
    return {
        "match": {"path": f"{_SERVICE}{_STREAM_METHOD}"},
        "route": _streaming("triton_grpc", limits),
        "typed_per_filter_config": {"envoy.filters.http.buffer": per_route},
    }


def _streaming(cluster: str, limits: Limits) -> Config:
    """Return what is done with a stream: the version's timeout is for silence on it."""
    return {
        "cluster": cluster,
        "timeout": "0s",
        "idle_timeout": duration(limits.timeout_ms),
        "max_stream_duration": {"max_stream_duration": duration(STREAM_AGE_MS)},
    }
