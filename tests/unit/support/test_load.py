import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from aiohttp import web
from tritonclient.grpc import service_pb2, service_pb2_grpc

from tests.support.load import (
    Answer,
    GrpcLoad,
    Load,
    Target,
    ask,
    digest_of,
    failed,
    settled_after,
    versions_of,
)
from tests.support.wait import wait_until

HEADERS = {"x-inference-version": "1.0.0", "x-inference-digest": "sha256:ab"}


class Server:
    """Answers like a version, and can be told to be slow or to fail."""

    def __init__(self) -> None:
        self.status = 200
        self.delay = 0.0
        self.hosts: list[str] = []
        self.connections: set[object] = set()
        self.address = ""
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(10)

    async def answer(self, request: web.Request) -> web.Response:
        self.hosts.append(request.host)
        self.connections.add(request.transport)
        await asyncio.sleep(self.delay)
        body = {"outputs": [{"name": "LABEL", "data": ["positive"]}]} if self.status == 200 else {"error": "no"}
        return web.Response(status=self.status, text=json.dumps(body), headers=HEADERS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application()
        app.router.add_post("/v2/models/{model}/infer", self.answer)
        self._runner = web.AppRunner(app)
        self._loop.run_until_complete(self._runner.setup())
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        self._loop.run_until_complete(site.start())
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def target(server: Server) -> Target:
    return Target(server.address, "news.test.inference.local")


def test_an_answer_is_recorded_with_its_headers_and_label(server):
    answer = ask(target(server))
    assert (answer.status, answer.version, answer.digest, answer.label) == (200, "1.0.0", "sha256:ab", "positive")
    assert failed([answer]) == []
    assert server.hosts == ["news.test.inference.local"]


def test_an_error_is_an_answer_and_counts_as_failed(server):
    server.status = 503
    answer = ask(target(server))
    assert (answer.status, answer.problem) == (503, '{"error": "no"}')
    assert failed([answer]) == [answer]


def test_nobody_there_is_recorded_too():
    answer = ask(Target("127.0.0.1:1", "x"))
    assert answer.status == -1
    assert "Connect" in answer.problem


def test_slow_answers_do_not_slow_the_load_down(server):
    server.delay = 0.3
    with Load(target(server), rate=50) as load:
        began = time.monotonic()
        wait_until("waiting until 40 answers came", lambda: len(load.answers) >= 40, within=10, every=0.01)
        took = time.monotonic() - began
    assert took < 0.3 * 10
    assert failed(load.answers) == []
    assert set(versions_of(load.answers)) == {"1.0.0"}


@pytest.mark.parametrize(("keep_alive", "reused"), [(True, True), (False, False)])
def test_connections_are_reused_if_that_is_wanted(server, keep_alive, reused):
    with Load(target(server), rate=50, keep_alive=keep_alive) as load:
        wait_until("waiting until 20 answers came", lambda: len(load.answers) >= 20, within=10, every=0.01)
    assert (len(server.connections) < len(load.answers) / 2) is reused


def test_the_last_answer_of_before_says_when_it_settled():
    answers = [
        Answer(at, 0.01, 200, version) for at, version in ((1.0, "a"), (2.0, "a"), (2.5, "b"), (2.75, "a"), (3.0, "b"))
    ]
    assert settled_after(answers, 2.0, lambda answer: answer.version == "b") == 0.75
    assert settled_after(answers, 2.9, lambda answer: answer.version == "b") == 0.0


def test_digests_are_told_by_version():
    answers = [Answer(0, 0, 200, "a", "1"), Answer(0, 0, 200, "a", "2"), Answer(0, 0, 200, "b", "3")]
    assert digest_of(answers, "a") == {"1", "2"}


class _Inference(service_pb2_grpc.GRPCInferenceServiceServicer):
    def ModelInfer(self, request, context):  # noqa: N802 - gRPC's name
        context.send_initial_metadata(tuple(HEADERS.items()))
        if request.model_name == "broken":
            context.abort(grpc.StatusCode.UNAVAILABLE, "no")
        answer = service_pb2.ModelInferResponse(model_name=request.model_name)
        answer.outputs.add(name="LABEL", datatype="BYTES", shape=[1])
        answer.raw_output_contents.append(b"\x08\0\0\0positive")
        return answer


@pytest.fixture
def grpc_address() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(_Inference(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


def test_grpc_answers_are_recorded_alike(grpc_address):
    with GrpcLoad(Target(grpc_address, "x"), rate=50) as load:
        wait_until("waiting until 10 answers came", lambda: len(load.answers) >= 10, within=10, every=0.01)
    assert failed(load.answers, good=0) == []
    first = load.answers[0]
    assert (first.version, first.digest, first.label) == ("1.0.0", "sha256:ab", "positive")


def test_a_grpc_error_is_an_answer_and_counts_as_failed(grpc_address):
    with GrpcLoad(Target(grpc_address, "x", model="broken"), rate=50) as load:
        wait_until("waiting until an answer came", lambda: load.answers, within=10, every=0.01)
    assert failed(load.answers, good=0) == load.answers
    assert "UNAVAILABLE" in load.answers[0].problem
