"""The guard's three doors: HTTP and gRPC with every limit, and one for probes and metrics with none."""

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.guard.envoy import Config, duration, extension, socket
from inferenceversion_operator.core.objects.guard.limits import (
    CONNECTION_AGE_MS,
    HEADER_COUNT,
    HEADER_KIB,
    HEADERS_TIMEOUT_MS,
    IDLE_TIMEOUT_MS,
    REQUESTS_PER_CONNECTION,
    Limits,
)
from inferenceversion_operator.core.objects.guard.replies import (
    grpc_replies,
    http_replies,
    identity_filter,
    probe_replies,
)
from inferenceversion_operator.core.objects.guard.routes import (
    LUA,
    drain_route,
    grpc_routes,
    http_routes,
    refuse,
    virtual_host,
)
from inferenceversion_operator.core.objects.repository import backend_of

HTTP_PORT = 8080
GRPC_PORT = 8081
PROBE_PORT = 9902
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the pod's own network


def http_listener(version: InferenceVersion, limits: Limits) -> Config:
    """Return the listener of HTTP/1.1 and h2c."""
    return _listener(
        "inference_http",
        HTTP_PORT,
        codec_type="AUTO",
        route_config={
            "virtual_hosts": [virtual_host("inference_http", http_routes(limits, streams=_is_decoupled(version)))]
        },
        http_filters=_filters(version, limits),
        local_reply_config=http_replies(version, limits),
        common_http_protocol_options={
            **_connection(),
            "max_requests_per_connection": REQUESTS_PER_CONNECTION,
        },
        **_slow_clients(limits),
    )


def grpc_listener(version: InferenceVersion, limits: Limits) -> Config:
    """Return the listener of gRPC; a decoupled model's streams have no whole request to wait for."""
    streams = _is_decoupled(version)
    return _listener(
        "inference_grpc",
        GRPC_PORT,
        codec_type="HTTP2",
        route_config={"virtual_hosts": [virtual_host("inference_grpc", grpc_routes(limits, streams=streams))]},
        http_filters=_filters(version, limits, _grpc_stats()),
        local_reply_config=grpc_replies(version, limits),
        common_http_protocol_options={
            **_connection(),
            "max_connection_duration": duration(CONNECTION_AGE_MS),
        },
        **(_slow_clients(limits) | ({"request_timeout": "0s"} if streams else {})),
    )


def probe_listener(version: InferenceVersion) -> Config:
    """Return the listener of kubelet and Prometheus: it answers when the others are full."""
    to_triton = {"cluster": "triton_probes", "timeout": "5s"}
    routes: list[Config] = [
        {"match": {"path": "/ready"}, "route": {"cluster": "admin"}},
        {"match": {"path": "/stats/prometheus"}, "route": {"cluster": "admin"}},
        {"match": {"path": "/v2/health/live"}, "route": to_triton},
        {"match": {"path": "/v2/health/ready"}, "route": to_triton},
        drain_route(version),
        refuse({"prefix": "/"}, 404, "no such path"),
    ]
    listener = _listener(
        "guard_probes",
        PROBE_PORT,
        codec_type="AUTO",
        route_config={"virtual_hosts": [{"name": "guard_probes", "domains": ["*"], "routes": routes}]},
        http_filters=[identity_filter(version), extension("envoy.filters.http.lua", LUA), _router()],
        local_reply_config=probe_replies(version),
        common_http_protocol_options=_connection(),
        request_headers_timeout=duration(HEADERS_TIMEOUT_MS),
        request_timeout=duration(HEADERS_TIMEOUT_MS),
    )
    return listener | {"ignore_global_conn_limit": True, "bypass_overload_manager": True}


def _is_decoupled(version: InferenceVersion) -> bool:
    """Say whether one request may have many answers."""
    return backend_of(version) == "vllm"


def _listener(name: str, port: int, **manager: object) -> Config:
    return {
        "name": name,
        "address": socket(ANY_ADDRESS, port),
        "per_connection_buffer_limit_bytes": 64 << 10,  # beside the body, which the buffer filter holds
        "filter_chains": [{"filters": [_connection_manager(name, manager)]}],
    }


def _connection_manager(name: str, fields: dict[str, object]) -> Config:
    """Return what every door has in common: paths are made plain before a route looks at them."""
    return extension(
        "envoy.filters.network.http_connection_manager",
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix=name,
        normalize_path=True,
        merge_slashes=True,
        path_with_escaped_slashes_action="REJECT_REQUEST",
        generate_request_id=False,
        skip_xff_append=True,
        max_request_headers_kb=HEADER_KIB,
        http2_protocol_options={
            "max_concurrent_streams": 1024,
            "initial_stream_window_size": 256 << 10,
            "initial_connection_window_size": 1 << 20,
        },
        **fields,
    )


def _connection() -> Config:
    return {"idle_timeout": duration(IDLE_TIMEOUT_MS), "max_headers_count": HEADER_COUNT}


def _slow_clients(limits: Limits) -> Config:
    """Return the limits of a client that sends or reads slowly."""
    return {
        "request_headers_timeout": duration(HEADERS_TIMEOUT_MS),
        "request_timeout": duration(limits.upload_ms),
        "stream_idle_timeout": duration(limits.timeout_ms + HEADERS_TIMEOUT_MS),
    }


def _filters(version: InferenceVersion, limits: Limits, *counting: Config) -> list[Config]:
    """Return the chain: stamp, count, memory, size, concurrency, Triton.

    Only a whole request takes one of Triton's places: slow uploads wait in the larger number before the buffer.
    """
    return [
        identity_filter(version),
        *counting,
        _at_most(limits.uploads),
        extension(
            "envoy.filters.http.buffer",
            "envoy.extensions.filters.http.buffer.v3.Buffer",
            max_request_bytes=limits.request_bytes,
        ),
        _at_most(limits.concurrency),
        _router(),
    ]


def _at_most(requests: int) -> Config:
    """Return a filter that refuses at once what comes while ``requests`` are behind it.

    It is Envoy's adaptive controller with a floor and a ceiling of the same value, so it never adapts. The circuit
    breaker alone would let as many again wait for an HTTP/1.1 connection before it refuses one.
    """
    controller = {
        "sample_aggregate_percentile": {"value": 50},
        "concurrency_limit_params": {
            "max_concurrency_limit": requests,
            "concurrency_update_interval": "60s",
        },
        "min_rtt_calc_params": {
            "interval": "3600s",
            "request_count": 1,
            "jitter": {"value": 0},
            "min_concurrency": requests,
        },
    }
    return extension(
        "envoy.filters.http.adaptive_concurrency",
        "envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency",
        gradient_controller_config=controller,
        concurrency_limit_exceeded_status={"code": "ServiceUnavailable"},
    )


def _grpc_stats() -> Config:
    """Return the filter that counts calls by gRPC's own status: to HTTP a failed call is a 200.

    It stands before the filters that refuse, so that it also sees what they say.
    """
    return extension(
        "envoy.filters.http.grpc_stats",
        "envoy.extensions.filters.http.grpc_stats.v3.FilterConfig",
        stats_for_all_methods=False,  # a status a cluster, not a status a method
    )


def _router() -> Config:
    return extension(
        "envoy.filters.http.router",
        "envoy.extensions.filters.http.router.v3.Router",
        suppress_envoy_headers=True,
    )
