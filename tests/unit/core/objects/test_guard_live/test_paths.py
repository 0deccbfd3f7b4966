"""Which requests reach Triton, and what the others hear."""

import json

import grpc
import pytest

from tests.support.envoy_client import (
    INFER,
    STAMP,
    raw,
)


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
