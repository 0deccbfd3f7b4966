"""Size, time and number of requests: at the limit, and one over."""

import contextlib
import http.client
import json
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from inferenceversion_operator.core.objects.guard import make_guard_bootstrap
from inferenceversion_operator.core.objects.guard.limits import limits_of
from tests.support.envoy import Envoy
from tests.support.envoy_client import (
    CONCURRENCY,
    INFER,
    LIMIT,
    SLOW_INFER,
    TIMEOUT_S,
    VERSION,
    metrics,
    raw,
    request,
)
from tests.support.envoy_upstream import SERVICE, SLOW
from tests.support.envoy_version import version
from tests.support.wait import wait_until


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


def test_slow_answer_is_504_and_in_the_histogram(upstream):
    with Envoy(make_guard_bootstrap(VERSION), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        answer = request(envoy, "POST", SLOW_INFER, b"")
        assert answer.status == 504
        assert "guardrails.timeout (600 ms)" in answer.error
        name = 'envoy_http_downstream_rq_time_%s{envoy_http_conn_manager_prefix="inference_http"%s}'
        wait_until("the 504 is in the histogram", lambda: metrics(envoy)[name % ("count", "")] == 1, within=10)
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
        wait_until("all uploads began", lambda: metrics(envoy)[active] == limits_of(large).uploads, within=10)
        with socket.create_connection(("127.0.0.1", envoy.port(8080)), timeout=10) as one_more:
            one_more.sendall(head)
            response = http.client.HTTPResponse(one_more)
            response.begin()
            assert (response.status, response.headers["retry-after"]) == (503, "1")


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
