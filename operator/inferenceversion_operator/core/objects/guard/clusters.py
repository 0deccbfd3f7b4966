"""Where the guard sends requests: Triton's two servers on loopback, and Envoy's own admin for metrics."""

from inferenceversion_operator.core.objects.guard.envoy import LOOPBACK, Config, duration, socket, typed
from inferenceversion_operator.core.objects.guard.limits import Limits

ADMIN_PORT = 9901
TRITON_HTTP_PORT = 8000
TRITON_GRPC_PORT = 8001

_PROBES_AT_ONCE = 16
_UPSTREAM_IDLE_MS = 60_000


def clusters(limits: Limits) -> list[Config]:
    """Return the clusters; probes have their own, so that a full one for inference can't fail them."""
    sizes = {"track_cluster_stats": {"request_response_sizes": True}}
    return [
        _cluster("triton_http", TRITON_HTTP_PORT, limits.concurrency, "http_protocol_options") | sizes,
        _cluster("triton_grpc", TRITON_GRPC_PORT, limits.concurrency, "http2_protocol_options") | sizes,
        _cluster("triton_probes", TRITON_HTTP_PORT, _PROBES_AT_ONCE, "http_protocol_options"),
        _cluster("admin", ADMIN_PORT, _PROBES_AT_ONCE, "http_protocol_options"),
    ]


def _cluster(name: str, port: int, at_once: int, protocol: str) -> Config:
    """Return a cluster of one address, with a circuit breaker behind the limit and never a retry."""
    endpoint = {"endpoint": {"address": socket(LOOPBACK, port)}}
    thresholds = {
        "max_connections": at_once,
        "max_pending_requests": at_once,
        "max_requests": at_once,
        "max_retries": 0,
    }
    options = typed(
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        common_http_protocol_options={"idle_timeout": duration(_UPSTREAM_IDLE_MS)},
        explicit_http_config={protocol: {}},
    )
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "circuit_breakers": {"thresholds": [thresholds]},
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
