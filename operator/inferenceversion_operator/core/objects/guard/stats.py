"""What the guard counts, and no more: Prometheus reads every line from every pod.

Names as Prometheus shows them (a real Envoy is asked in ``test_guard_live/test_stats.py``):

===================================================== ==================================================================
``envoy_http_downstream_rq_xx``                       answers to HTTP by ``envoy_response_code_class``; the guard's own
                                                      413, 503 and 504 are among them. A failed gRPC call is a 2 here.
``envoy_http_downstream_rq_time``                     histogram in whole milliseconds, HTTP and gRPC; 504 and 413 too
``envoy_cluster_grpc``                                gRPC calls by ``grpc_status``; the guard's own replies are among
                                                      them: size is 8, timeout 4, no place at Triton or no Triton 14
``envoy_http_downstream_rq_overload_close``           refused for want of memory, before any filter: an HTTP one is in
                                                      class 5 as well, a gRPC one (14) is counted here only
``envoy_http_downstream_rq_tx_reset``                 answers that broke off in the middle (Triton died): in class 2 as
                                                      well, so they are failures that no status tells
===================================================== ==================================================================

The label ``envoy_http_conn_manager_prefix`` is ``inference_http`` or ``inference_grpc``, ``envoy_cluster_name`` is
``triton_http`` or ``triton_grpc``. In no ``grpc_status``: calls that the client gave up, and those of methods that
there are not or that are closed (12, 7), which never had a cluster.

There with 0 before the first request: every ``envoy_http_downstream_...`` (all classes, all buckets of the time) and
every ``envoy_cluster_upstream_rq_...`` but those that follow. Not there before the first of its kind:
``envoy_cluster_grpc`` (a series a status), ``envoy_cluster_upstream_rq_xx``, ``envoy_cluster_upstream_rq_time``, and
the same two of a virtual cluster. Such a series begins with what was counted before it was first scraped, which
``increase()`` doesn't see: who counts errors by it has to add the first value of a new series.
"""

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.guard.envoy import Config, printable
from inferenceversion_operator.core.objects.guard.limits import Limits

_INFERENCE = r"inference_(http|grpc)"
# Matched against the whole name of a statistic.
_COUNTED = (
    # p95 and error rate of what clients saw: 504 and 413 are in here, and in no statistic of the cluster's time.
    rf"http\.{_INFERENCE}\.downstream_rq_(time|total|active|completed|timeout|too_large|[2-5]xx)",
    rf"http\.{_INFERENCE}\.downstream_rq_(overload_close|tx_reset)",
    rf"http\.{_INFERENCE}\.downstream_cx_(total|active|destroy_remote_active_rq)",
    rf"http\.{_INFERENCE}\.adaptive_concurrency\.gradient_controller\.rq_blocked",
    # What Triton was given and how it answered.
    r"cluster\.triton_(http|grpc)\.upstream_rq_(time|total|active|timeout|pending_overflow|rx_reset|[2-5]xx)",
    r"cluster\.triton_(http|grpc)\.upstream_(rq_body_size|rs_body_size|cx_active|cx_connect_fail|cx_overflow)",
    r"cluster\.triton_grpc\.grpc\.\d+",
    # Live (other) and shadow traffic apart.
    rf"vhost\.{_INFERENCE}\.vcluster\.(shadow|other)\.upstream_rq_(time|total|timeout|[2-5]xx)",
    r"overload\..*\.(active|pressure)",
    r"server\.(live|uptime|memory_allocated|memory_heap_size|total_connections|concurrency)",
)
# Envoy would make a metric a status of it, and PromQL can't take the increase of several metrics in one go. The first
# group is what leaves the name, the second is the label's value.
_GRPC_STATUS = {"tag_name": "grpc_status", "regex": r"^cluster\.triton_grpc\.grpc(\.(\d+))$"}


def metric_labels(version: InferenceVersion) -> dict[str, str]:
    """Return the labels that every metric of the version's guards carries.

    They are the guard's own, so they are right with any Prometheus and whatever it relabels.
    """
    return {
        "inference_namespace": version.namespace,
        "inference_endpoint": version.endpoint,
        "inference_version": printable(version.version),
        "inference_name": version_name(version.name),
    }


def stats_config(version: InferenceVersion, limits: Limits) -> Config:
    """Return which statistics there are, their labels, and histograms whose bounds hold the SLO's values exactly.

    Envoy keeps two significant digits of a value: 80 and 120 are sharp, while a bound of 125 also counts what took
    up to 129 ms.
    """
    fixed = [{"tag_name": name, "fixed_value": value} for name, value in metric_labels(version).items()]
    return {
        "stats_tags": [*fixed, _GRPC_STATUS],
        "stats_matcher": {"inclusion_list": {"patterns": [{"safe_regex": {"regex": regex}} for regex in _COUNTED]}},
        "histogram_bucket_settings": [
            _buckets("downstream_rq_time", limits.time_buckets),
            _buckets("upstream_rq_time", limits.time_buckets),
            _buckets("body_size", limits.size_buckets),
        ],
    }


def _buckets(suffix: str, bounds: tuple[float, ...]) -> Config:
    return {"match": {"suffix": suffix}, "buckets": [int(bound) if bound == int(bound) else bound for bound in bounds]}
