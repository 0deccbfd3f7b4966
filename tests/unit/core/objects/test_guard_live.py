"""The guard as clients meet it: a real Envoy before a real HTTP/1.1 and a real gRPC server."""

import contextlib
import functools
import http.client
import json
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from inferenceversion_operator.core.objects.guard import drain_path, make_guard_bootstrap
from inferenceversion_operator.core.objects.guard.limits import limits_of
from tests.support.envoy import Envoy
from tests.support.envoy_upstream import SERVICE, SLOW, Upstream
from tests.support.envoy_version import DIGEST, version

LIMIT = 100_000
CONCURRENCY = 3
TIMEOUT_S = 0.6
VERSION = version(
    version="2.4.1+build.7",
    guardrails={"max_request_bytes": LIMIT, "timeout_ms": int(TIMEOUT_S * 1000), "max_concurrency": CONCURRENCY},
    slo={"p95_ms": 83, "p99_ms": 112.5},
)
INFER = "/v2/models/echo/infer"
SLOW_INFER = "/v2/models/slow/infer"
STAMP = {"x-inference-version": "2.4.1+build.7", "x-inference-digest": DIGEST}


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def envoy(upstream):
    with Envoy(make_guard_bootstrap(VERSION), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        yield envoy
        assert "error" not in envoy.log
        assert "critical" not in envoy.log


@pytest.fixture(autouse=True)
def quiet(upstream):
    yield
    upstream.reset()


@pytest.fixture
def ask(envoy):
    """Send one HTTP request to the guard that the tests share."""
    return functools.partial(request, envoy)


def request(envoy, method, path, body=None, headers=(), *, port=8080, chunked=False):
    """Return the answer to one HTTP request (``status``, ``headers``, ``body``); it carries the stamp."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", envoy.port(port), timeout=10)) as connection:
        source = iter([body]) if chunked else body
        connection.request(method, path, source, dict(headers), encode_chunked=chunked)
        return _checked(connection.getresponse())


@pytest.fixture
def call(envoy):
    """Call one gRPC method with bytes; the answer or the error carries the stamp."""
    channel = grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}", [("grpc.max_receive_message_length", -1)])

    def call(method, body=b"", *, service=SERVICE, metadata=()):
        rpc = channel.unary_unary(f"/{service}/{method}")
        try:
            answer, done = rpc.with_call(body, timeout=10, metadata=metadata)
        except grpc.RpcError as error:
            _assert_stamped([*(error.initial_metadata() or ()), *(error.trailing_metadata() or ())])
            return error
        _assert_stamped(done.initial_metadata())
        return answer

    with channel:
        yield call


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def error(self):
        return json.loads(self.body)["error"]


def _checked(response):
    answer = Answer(response)
    _assert_stamped([(name.lower(), value) for name, value in answer.headers.items()])
    return answer


def _assert_stamped(headers):
    for name, value in STAMP.items():
        assert [seen for key, seen in headers if key == name] == [value]


def raw(envoy, request, port=8080):
    """Send bytes and return the stamped answer to them."""
    with socket.create_connection(("127.0.0.1", envoy.port(port)), timeout=10) as connection:
        connection.sendall(request)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return _checked(response)


def metrics(envoy):
    """Return the metrics as ``{series: value}``."""
    lines = request(envoy, "GET", "/stats/prometheus", port=9902).body.decode().splitlines()
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def wait_until(probe, message=""):
    end = time.monotonic() + 10
    while not probe():
        assert time.monotonic() < end, message
        time.sleep(0.03)


# ---- what goes through


def test_inference_reaches_triton(ask, upstream):
    answer = ask("POST", INFER, b"x" * 10)
    assert (answer.status, json.loads(answer.body)["bytes"]) == (200, 10)


@pytest.mark.parametrize(
    "path",
    [
        "/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/a.b-c_1", "/v2/models/a/config", "/v2/models/a/stats",
        "/v2/models/a/ready", "/v2/models/a/versions/1", "/v2/models/a/versions/1/ready", "/v2/models/stats",
        "/v2/models/a/generate", "/v2/models/a/versions/1/generate_stream",
    ],
)  # fmt: skip
def test_paths_of_inference_health_and_metadata_go_through(ask, path):
    assert json.loads(ask("GET", path).body)["path"] == path


def test_client_cannot_choose_the_stamp(ask, upstream):
    ask("POST", INFER, b"", {"x-inference-version": "9.9.9", "x-inference-digest": "sha256:0"})
    (seen,) = upstream.headers
    assert not set(seen) & set(STAMP)


@pytest.mark.parametrize("method", ["ModelInfer", "ServerReady", "ModelMetadata"])
def test_grpc_reaches_triton(call, method):
    assert call(method, b"12345") == b"5"


def test_grpc_health_check_reaches_triton(call):
    assert call("Check", b"", service="grpc.health.v1.Health") == b"0"


# ---- what does not


@pytest.mark.parametrize(
    "path",
    [
        "/v2/repository/index", "/v2/repository/models/a/load", "/v2/repository/models/a/unload", "/v2/trace/setting",
        "/v2/systemsharedmemory/region/r/register", "/v2/cudasharedmemory/status", "/v2/logging",
        "/v2/models/a/trace/setting", "/v2//repository/index", "/v2/models/../repository/index",
        "/v2/models/%2e%2e/repository/index", "/v2/%72epository/index",
    ],
)  # fmt: skip
def test_control_paths_are_forbidden(ask, upstream, path):
    assert ask("POST", path, b"{}").status == 403
    assert upstream.headers == []


@pytest.mark.parametrize("path", ["/", "/metrics", "/v1/models", "/v2/models/a/b/c"])
def test_other_paths_are_not_found(ask, upstream, path):
    assert ask("GET", path).status == 404
    assert upstream.headers == []


@pytest.mark.parametrize("path", ["/v2/models/a%2Finfer", "/v2%2frepository/index", "/v2/models%5c..%5crepository"])
def test_escaped_slashes_are_refused(ask, path):
    assert ask("GET", path).status == 400


@pytest.mark.parametrize(
    "method",
    ["RepositoryModelLoad", "RepositoryModelUnload", "RepositoryIndex", "SystemSharedMemoryRegister", "TraceSetting",
     "LogSettings", "CudaSharedMemoryStatus", "ModelStreamInfer"],
)  # fmt: skip
def test_control_methods_are_forbidden(call, method):
    assert call(method).code() is grpc.StatusCode.PERMISSION_DENIED


def test_unknown_service_is_not_implemented(call):
    assert call("Nothing", service="some.Service").code() is grpc.StatusCode.UNIMPLEMENTED


# ---- size


@pytest.mark.parametrize("chunked", [False, True], ids=["content-length", "chunked"])
def test_request_at_the_limit_passes_and_one_over_is_413(ask, chunked):
    at_limit = ask("POST", INFER, b"x" * LIMIT, chunked=chunked)
    assert json.loads(at_limit.body)["bytes"] == LIMIT
    over = ask("POST", INFER, b"x" * (LIMIT + 1), chunked=chunked)
    assert over.status == 413
    assert f"guardrails.maxRequestSize ({LIMIT} bytes)" in over.error


def test_grpc_request_over_the_limit_is_resource_exhausted(call):
    frame = 5  # gRPC's own bytes before each message count, too
    assert call("ModelInfer", b"x" * (LIMIT - frame)) == str(LIMIT - frame).encode()
    error = call("ModelInfer", b"x" * (LIMIT - frame + 1))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "maxRequestSize" in error.details()


def test_too_many_or_too_large_headers_are_431(ask):
    assert ask("GET", "/v2", headers={f"x-{i}": "1" for i in range(101)}).status == 431
    assert ask("GET", "/v2", headers={"x-long": "1" * 40_000}).status == 431


# ---- time


def test_slow_answer_is_504_and_in_the_histogram(upstream):
    with Envoy(make_guard_bootstrap(VERSION), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        answer = request(envoy, "POST", SLOW_INFER, b"")
        assert answer.status == 504
        assert "guardrails.timeout (600 ms)" in answer.error
        name = 'envoy_http_downstream_rq_time_%s{envoy_http_conn_manager_prefix="inference_http"%s}'
        wait_until(lambda: metrics(envoy)[name % ("count", "")] == 1, "the 504 is not in the histogram")
        seen = metrics(envoy)
        assert seen[name % ("bucket", ',le="500"')] == 0  # it took longer than 500 ms
        assert seen[name % ("bucket", ',le="1200"')] == 1


def test_client_cannot_lengthen_its_timeout_or_ask_for_retries(ask, upstream):
    steering = {"x-envoy-upstream-rq-timeout-ms": "60000", "x-envoy-retry-on": "5xx", "x-envoy-max-retries": "3"}
    assert ask("POST", SLOW_INFER, b"", steering).status == 504
    assert len(upstream.headers) == 1


def test_slow_grpc_answer_is_deadline_exceeded(call):
    error = call("ModelInfer", SLOW)
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "guardrails.timeout" in error.details()  # the guard's word, not the client's own deadline


def test_client_that_never_ends_its_headers_is_sent_away(envoy):
    start = time.monotonic()
    assert raw(envoy, b"GET /v2 HTTP/1.1\r\nhost: a\r\n").status == 408
    assert 4 < time.monotonic() - start < 8


# ---- concurrency


def test_requests_over_the_limit_are_503_with_retry_after_and_probes_still_answer(ask, upstream):
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        waiting = [pool.submit(ask, "POST", SLOW_INFER, b"") for _ in range(CONCURRENCY)]
        upstream.wait_entered(CONCURRENCY)
        refused = ask("POST", INFER, b"")
        probe = ask("GET", "/v2/health/ready", port=9902)
        upstream.release.set()
        assert [one.result().status for one in waiting] == [200] * CONCURRENCY
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert probe.status == 200
    assert ask("POST", INFER, b"").status == 200


def test_a_burst_up_to_the_limit_is_not_refused(ask):
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        answers = list(pool.map(lambda _: ask("POST", INFER, b"x"), range(20 * CONCURRENCY)))
    assert {answer.status for answer in answers} == {200}


def test_unfinished_uploads_take_no_place(ask, envoy):
    head = b"POST " + INFER.encode() + b" HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n12345"
    held = [socket.create_connection(("127.0.0.1", envoy.port(8080))) for _ in range(CONCURRENCY + 1)]
    try:
        for connection in held:
            connection.sendall(head)
        assert ask("POST", INFER, b"").status == 200
    finally:
        for connection in held:
            connection.close()


def test_grpc_over_the_limit_is_unavailable(call, upstream):
    threads = [threading.Thread(target=call, args=("ModelInfer", SLOW)) for _ in range(CONCURRENCY)]
    for thread in threads:
        thread.start()
    upstream.wait_entered(CONCURRENCY)
    error = call("ModelInfer", b"")
    upstream.release.set()
    for thread in threads:
        thread.join()
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert ("retry-after", "1") in [*error.initial_metadata(), *error.trailing_metadata()]


def test_unfinished_uploads_are_bounded_by_memory(upstream):
    large = version(version=VERSION.version, guardrails={"max_request_bytes": 16 << 20, "max_concurrency": 2})
    ports = {8000: upstream.http_port, 8001: upstream.grpc_port}
    head = b"POST " + INFER.encode() + b" HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n"
    with Envoy(make_guard_bootstrap(large), ports) as envoy, contextlib.ExitStack() as held:
        for _ in range(limits_of(large).uploads):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", envoy.port(8080))))
            connection.sendall(head + b"12345")
        active = 'envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix="inference_http"}'
        wait_until(lambda: metrics(envoy)[active] == limits_of(large).uploads)
        with socket.create_connection(("127.0.0.1", envoy.port(8080)), timeout=10) as one_more:
            one_more.sendall(head)
            response = http.client.HTTPResponse(one_more)
            response.begin()
            assert (response.status, response.headers["retry-after"]) == (503, "1")


# ---- streams of decoupled models


def test_streams_may_last_longer_than_the_timeout_while_they_speak(upstream):
    decoupled = version(
        version=VERSION.version, model={"format": "vllm"}, guardrails={"timeout_ms": int(TIMEOUT_S * 1000)}
    )
    with Envoy(make_guard_bootstrap(decoupled), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        start = time.monotonic()
        assert request(envoy, "POST", "/v2/models/echo/generate_stream", b"{}").body == b"data:x\n" * 4
        assert time.monotonic() - start > TIMEOUT_S
        with grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}") as channel:
            stream = channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")
            asked = queue.SimpleQueue()
            answers = stream(iter(asked.get, None), timeout=10)
            for size in (1, 22, 333):  # each answer comes while the client's side is still open
                asked.put(b"x" * size)
                assert next(answers) == str(size).encode()
            asked.put(None)
            assert list(answers) == []
            silent = stream(iter(asked.get, None), timeout=10)
            with pytest.raises(grpc.RpcError):
                next(silent)
            assert silent.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            assert time.monotonic() - start < 8
            asked.put(None)


# ---- what is refused before it is a request


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.1\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.0\r\nhost: a\r\n\r\n", 426),
        (b"GET /v2 HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n", 403),
        (b"POST /v2 HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ],
    ids=["garbage", "no-host", "http-1.0", "upgrade", "smuggling"],
)
def test_bad_requests_are_stamped_too(envoy, request_bytes, status):
    assert raw(envoy, request_bytes).status == status


# ---- probes and metrics


@pytest.mark.parametrize(("path", "status"), [("/ready", 200), ("/v2/health/live", 200), ("/v2/health/ready", 200)])
def test_probe_paths(ask, path, status):
    assert ask("GET", path, port=9902).status == status


@pytest.mark.parametrize("path", ["/quitquitquit", "/config_dump", "/", "/stats", "/ready/../quitquitquit", INFER])
def test_admin_is_not_reachable_through_the_probe_port(ask, path):
    assert ask("POST", path, b"", port=9902).status == 404


def test_metrics_hold_the_slo_and_the_timeout_as_bounds(ask, envoy):
    ask("POST", INFER, b"x" * 500)
    ask("POST", INFER, b"x" * 500, {"x-inference-traffic": "shadow"})
    shadow = (
        'envoy_vhost_vcluster_upstream_rq_total{envoy_virtual_cluster="shadow",envoy_virtual_host="inference_http"}'
    )
    size = f'envoy_cluster_upstream_rq_body_size_bucket{{envoy_cluster_name="triton_http",le="{LIMIT}"}}'
    wait_until(lambda: metrics(envoy).get(shadow) == 1 and metrics(envoy).get(size, 0) >= 2)
    seen = metrics(envoy)
    for bound in ("83", "112.5", "600", "+Inf"):
        for lane in ("inference_http", "inference_grpc"):
            assert (
                f'envoy_http_downstream_rq_time_bucket{{envoy_http_conn_manager_prefix="{lane}",le="{bound}"}}' in seen
            )
    assert len(seen) < 400


def test_shed_requests_are_counted(envoy):
    name = "envoy_http_adaptive_concurrency_gradient_controller_rq_blocked"
    assert f'{name}{{envoy_http_conn_manager_prefix="inference_http"}}' in metrics(envoy)


# ---- the end of a pod


def test_drain_sends_clients_elsewhere_and_still_serves_them(upstream):
    with Envoy(make_guard_bootstrap(VERSION), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", envoy.port(8080), timeout=10)) as kept:
            kept.request("GET", "/v2")
            assert _checked(kept.getresponse()).headers["connection"] is None
            assert request(envoy, "GET", drain_path(VERSION), port=9902).status == 200
            kept.request("GET", "/v2")
            last = _checked(kept.getresponse())
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert request(envoy, "GET", "/v2").status == 200  # on a new connection
        with grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}") as channel:
            assert channel.unary_unary(f"/{SERVICE}/ModelInfer")(b"12", timeout=10) == b"2"


@pytest.mark.parametrize("path", ["/drain", "/drain/", "/drain/0123456789abcdef0123456789abcdef"])
def test_drain_is_for_those_who_know_the_version(ask, path):
    assert ask("GET", path, port=9902).status == 404
