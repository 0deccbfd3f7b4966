"""The numbers of the guard: what one version may take, derived in one place."""

from dataclasses import dataclass

from inferenceversion_operator.api.types import InferenceVersion

MIB = 1 << 20

HEADER_KIB = 32
HEADER_COUNT = 100
HEADERS_TIMEOUT_MS = 5_000  # a client sends its headers in this time
IDLE_TIMEOUT_MS = 300_000  # of a connection without a request
SLOWEST_UPLOAD = MIB // 4  # bytes a second that a client must reach with its body
CONNECTIONS = 4_096
# A connection is announced to be closed after so many requests: clients that keep one for ever would otherwise
# stay on one pod, since kube-proxy balances connections and not requests.
REQUESTS_PER_CONNECTION = 10_000
CONNECTION_AGE_MS = 600_000  # gRPC: GOAWAY, then the streams in flight end in peace
STREAM_AGE_MS = 3_600_000  # a stream that the client keeps open (decoupled models)
DEFAULT_CONCURRENCY = 256
_UPLOADS_BESIDE = 64 * MIB  # bodies that may be on their way while every place at Triton is taken
_BODIES = 1024 * MIB  # all bodies, unless maxConcurrency asks for more
_HEAP_WITHOUT_BODIES = 96 * MIB  # Envoy itself and 4,096 connections
_BESIDE_HEAP = 64 * MIB  # code and stacks: what the container needs beyond Envoy's own count

# Milliseconds; a ladder on which a quantile is off by less than a quarter.
_LADDER = (1, 2, 3, 4, 5, 7.5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750)
_DECADE = (1, 1.5, 2, 3, 5, 7.5)


@dataclass(frozen=True, slots=True)
class Limits:
    request_bytes: int
    timeout_ms: int
    upload_ms: int
    concurrency: int  # whole requests, at Triton
    uploads: int  # all requests: those, and those whose body is still coming
    heap_bytes: int
    time_buckets: tuple[float, ...]
    size_buckets: tuple[float, ...]


def limits_of(version: InferenceVersion) -> Limits:
    """Return the limits of the version."""
    guard = version.guardrails
    concurrency = guard.max_concurrency or _default_concurrency(version)
    uploads = _uploads(guard.max_request_bytes, concurrency, guard.max_concurrency or 0)
    return Limits(
        request_bytes=guard.max_request_bytes,
        timeout_ms=guard.timeout_ms,
        upload_ms=10_000 + guard.max_request_bytes * 1000 // SLOWEST_UPLOAD,
        concurrency=concurrency,
        uploads=uploads,
        heap_bytes=_HEAP_WITHOUT_BODIES + uploads * guard.max_request_bytes * 11 // 10,
        time_buckets=time_buckets(guard.timeout_ms, (version.slo.p95_ms, version.slo.p99_ms)),
        size_buckets=size_buckets(guard.max_request_bytes),
    )


def _default_concurrency(version: InferenceVersion) -> int:
    """Return enough to keep every instance's next batches full, and an end to the queue."""
    full = max(1, version.triton.max_batch_size) * max(1, version.triton.instance_count)
    return max(DEFAULT_CONCURRENCY, 4 * full)


def _uploads(request_bytes: int, concurrency: int, wanted: int) -> int:
    """Return how many requests there may be at all: each may hold a body in memory until it is whole.

    With large bodies memory is what limits requests, unless the version says how many it wants.
    """
    affordable = max(4, _BODIES // request_bytes, wanted)
    return min(concurrency + max(8, _UPLOADS_BESIDE // request_bytes), affordable)


def container_bytes(limits: Limits) -> int:
    """Return the memory limit of the guard's container: what it needs when every body is as large as allowed."""
    return limits.heap_bytes + _BESIDE_HEAP


def time_buckets(timeout_ms: int, exact: tuple[float | None, ...]) -> tuple[float, ...]:
    """Return upper bounds in milliseconds: the ladder to beyond the timeout, with every ``exact`` value on it."""
    bounds: set[float] = {float(bound) for bound in _LADDER}
    decade = 1_000.0
    end = max([2.0 * timeout_ms, *(2.0 * bound for bound in exact if bound)])
    while decade <= end:
        bounds |= {decade * step for step in _DECADE}
        decade *= 10
    bounds = {bound for bound in bounds if bound < end} | {end, float(timeout_ms)}
    return tuple(sorted(bounds | {float(bound) for bound in exact if bound}))


def size_buckets(request_bytes: int) -> tuple[float, ...]:
    """Return upper bounds in bytes: powers of four from 256 to the limit, and the limit."""
    bounds = [256.0]
    while bounds[-1] * 4 < request_bytes:
        bounds.append(bounds[-1] * 4)
    return tuple(sorted({*(bound for bound in bounds if bound < request_bytes), float(request_bytes)}))
