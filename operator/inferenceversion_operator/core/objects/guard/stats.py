"""What the guard counts, and no more: Prometheus reads every line from every pod."""

from inferenceversion_operator.core.objects.guard.envoy import Config
from inferenceversion_operator.core.objects.guard.limits import Limits

_INFERENCE = r"inference_(http|grpc)"
# Matched against the whole name of a statistic.
_COUNTED = (
    # p95 and error rate of what clients saw: 504 and 413 are in here, and in no statistic of the cluster's time.
    rf"http\.{_INFERENCE}\.downstream_rq_(time|total|active|completed|timeout|too_large|[2-5]xx)",
    rf"http\.{_INFERENCE}\.downstream_cx_(total|active|destroy_remote_active_rq)",
    rf"http\.{_INFERENCE}\.adaptive_concurrency\.gradient_controller\.rq_blocked",
    # What Triton was given and how it answered.
    r"cluster\.triton_(http|grpc)\.upstream_rq_(time|total|active|timeout|pending_overflow|rx_reset|[2-5]xx)",
    r"cluster\.triton_(http|grpc)\.upstream_(rq_body_size|rs_body_size|cx_active|cx_connect_fail|cx_overflow)",
    # Live (other) and shadow traffic apart.
    rf"vhost\.{_INFERENCE}\.vcluster\.(shadow|other)\.upstream_rq_(time|total|timeout|[2-5]xx)",
    r"overload\..*\.(active|pressure)",
    r"server\.(live|uptime|memory_allocated|memory_heap_size|total_connections|concurrency)",
)


def stats_config(limits: Limits) -> Config:
    """Return which statistics there are, and histograms whose bounds hold the SLO's values exactly.

    Envoy keeps two significant digits of a value: 80 and 120 are sharp, while a bound of 125 also counts what took
    up to 129 ms.
    """
    return {
        "stats_matcher": {"inclusion_list": {"patterns": [{"safe_regex": {"regex": regex}} for regex in _COUNTED]}},
        "histogram_bucket_settings": [
            _buckets("downstream_rq_time", limits.time_buckets),
            _buckets("upstream_rq_time", limits.time_buckets),
            _buckets("body_size", limits.size_buckets),
        ],
    }


def _buckets(suffix: str, bounds: tuple[float, ...]) -> Config:
    return {"match": {"suffix": suffix}, "buckets": [int(bound) if bound == int(bound) else bound for bound in bounds]}
