"""The real Envoy that these tests share, before a real HTTP/1.1 and a real gRPC server."""

import functools

import grpc
import pytest

from inferenceversion_operator.core.objects.guard import make_guard_bootstrap
from tests.support.envoy import Envoy
from tests.support.envoy_client import VERSION, assert_stamped, request
from tests.support.envoy_upstream import SERVICE, Upstream


@pytest.fixture(scope="package")
def upstream():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="package")
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


@pytest.fixture
def call(envoy):
    """Call one gRPC method with bytes; the answer or the error carries the stamp."""
    channel = grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}", [("grpc.max_receive_message_length", -1)])

    def call(method, body=b"", *, service=SERVICE, metadata=()):
        rpc = channel.unary_unary(f"/{service}/{method}")
        try:
            answer, done = rpc.with_call(body, timeout=10, metadata=metadata)
        except grpc.RpcError as error:
            assert_stamped([*(error.initial_metadata() or ()), *(error.trailing_metadata() or ())])
            return error
        assert_stamped(done.initial_metadata())
        return answer

    with channel:
        yield call
