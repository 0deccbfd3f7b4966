"""Names of what the gates read: metrics of the guard (Envoy, in each pod) and of the differ (in the shadow).

The guard's names are those that a real Envoy gives to what ``core/objects/guard/stats.py`` lets it count.
"""

# Labels on every metric of a guard. ``inference_name`` is free of collisions, the version's text is for people.
NAMESPACE = "inference_namespace"
NAME = "inference_name"

GUARD_LIVE = "envoy_server_live"  # one series a pod
ANSWERS = "envoy_http_downstream_rq_xx"
ANSWER_CLASS = "envoy_response_code_class"  # "2" to "5"; the guard's own 413, 503 and 504 are among them
TIMES = "envoy_http_downstream_rq_time_bucket"  # milliseconds; 413 and 504 are among them
BOUND = "le"
BROKEN_OFF = "envoy_http_downstream_rq_tx_reset"  # answers that ended in the middle: no class tells of them
REFUSED = "envoy_http_downstream_rq_overload_close"  # for want of memory; an HTTP one is in class 5, too
DOOR = "envoy_http_conn_manager_prefix"
HTTP = "inference_http"
GRPC = "inference_grpc"
GRPC_CALLS = "envoy_cluster_grpc"  # HTTP says 200 of a call that failed; these tell its own status
GRPC_STATUS = "grpc_status"

# Labels of the differ. Both versions are in there as SemVer text.
ENDPOINT = "inference_endpoint"
CANDIDATE = "inference_version"
STABLE = "inference_stable"

COMPARED = "inference_shadow_compared_total"  # requests; a replay that the candidate alone failed is one
MISMATCHED = "inference_shadow_mismatched_total"  # of which an output differs
NOISE_COMPARED = "inference_shadow_noise_compared_total"  # requests that stable was asked twice
NOISE_MISMATCHED = "inference_shadow_noise_mismatched_total"
REPLAYS_FAILED = "inference_shadow_failed_total"
LABELS = "inference_shadow_labels_total"  # values of BYTES outputs
FLIPS = "inference_shadow_label_flips_total"
SCORES = "inference_shadow_scores_bucket"  # values of float outputs
OUTPUT = "output"
SIDE = "side"
LABEL = "label"
FLIP_FROM = "stable_label"
FLIP_TO = "candidate_label"
