"""What is made of servers that are slow, large, closed or something else than Prometheus (tests/integration has a real one)."""

import asyncio
import contextlib
import gzip
import json
import logging
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from inferenceversion_operator.adapters.prometheus import NoAnswer, Prometheus, PrometheusConfig, Reason, Sample
from inferenceversion_operator.adapters.prometheus.question import ask

AT = datetime(2026, 11, 30, 12, 0, 0, 500_000, tzinfo=UTC)
QUICK_S = 0.4


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


class Server(ThreadingHTTPServer):
    """Answers every request by ``answer(handler)``; remembers paths and headers."""

    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.seen = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """Clients that hang up are what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.server.seen.append((self.path, parse_qs(body), dict(self.headers)))
        self.server.answer(self)

    def log_message(self, format, *args):  # noqa: A002
        """Say nothing."""


def replying(status, body, **headers):
    def answer(handler):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"content-length": str(len(data)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def success(kind, result, **more):
    return replying(200, {"status": "success", "data": {"resultType": kind, "result": result}, **more})


def failure(status, kind, message):
    return replying(status, {"status": "error", "errorType": kind, "error": message})


VECTOR = success("vector", [{"metric": {"job": "a"}, "value": [1, "1.5"]}])


@contextlib.contextmanager
def serving(answer):
    with Server(answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def asking(url, **settings):
    prometheus = Prometheus(PrometheusConfig(url, **({"timeout_s": 5.0} | settings)))
    try:
        yield prometheus
    finally:
        prometheus.close()


async def answer_of(answer, **settings):
    with serving(answer) as server, asking(server.url, **settings) as prometheus:
        return (await prometheus.ask({"q": "up"}, AT))["q"]


async def test_a_question_as_prometheus_gets_it():
    with serving(VECTOR) as server:
        url = f"{server.url}/prometheus"
        with asking(url, headers={"X-Scope-OrgID": "team-a"}, timeout_s=2.0) as prometheus:
            assert await prometheus.ask({"q": 'sum(up{a="b+c"})'}, AT) == {"q": (Sample(1.5, {"job": "a"}),)}
        ((path, asked, headers),) = server.seen
    assert path == "/prometheus/api/v1/query"  # a long query in the URL is more than many a proxy takes
    assert asked["query"] == ['sum(up{a="b+c"})']
    assert asked["time"] == [f"{AT.timestamp():.3f}"]
    # The server gives up before we do, so that its own word is what is told; and half an answer is none.
    assert asked["timeout"] == ["1800ms"]
    assert (asked["partial_response"], asked["deny_partial_response"]) == (["false"], ["1"])
    assert headers["X-Scope-OrgID"] == "team-a"
    assert "Authorization" not in headers


async def test_no_question_is_no_request():
    with serving(VECTOR) as server, asking(server.url) as prometheus:
        assert await prometheus.ask({}, AT) == {}
        assert server.seen == []


@pytest.mark.parametrize(
    ("answer", "reason", "status", "told"),
    [
        (failure(400, "bad_data", "parse error"), Reason.BAD_QUERY, 400, "parse error"),
        (failure(422, "execution", "many-to-many"), Reason.BAD_QUERY, 422, "many-to-many"),
        (failure(503, "timeout", "query timed out"), Reason.TIMEOUT, 503, "query timed out"),
        (failure(500, "internal", "disk\n is full"), Reason.HTTP_ERROR, 500, "answers 500: disk is full"),
        (replying(400, b"HTTP request to an HTTPS port"), Reason.HTTP_ERROR, 400, "HTTPS port"),
        (replying(502, b""), Reason.HTTP_ERROR, 502, "Bad Gateway"),
        (replying(404, b"<html>" + b"x" * 9999), Reason.HTTP_ERROR, 404, "<html>"),
        (replying(401, b"who?"), Reason.UNAUTHORIZED, 401, "who?; look at the bearer token"),
        (replying(403, b"no such tenant"), Reason.UNAUTHORIZED, 403, "no such tenant"),
        (replying(302, b"", location="https://login.example/"), Reason.HTTP_ERROR, 302, "https://login.example/"),
        (replying(200, b"<html>hello</html>"), Reason.HTTP_ERROR, 200, "not the API of a Prometheus"),
        (replying(200, []), Reason.HTTP_ERROR, 200, "not the API"),
        (replying(200, {"data": {"result": []}}), Reason.HTTP_ERROR, 200, "not the API"),
        (success("vector", [{"metric": {}, "value": [1, "many"]}]), Reason.HTTP_ERROR, 200, "not the API"),
        (success("vector", [{"metric": {}, "histogram": [1, {}]}]), Reason.NOT_A_VECTOR, None, "native histograms"),
        (success("matrix", []), Reason.NOT_A_VECTOR, None, "a matrix"),
        (success("string", [1, "5"]), Reason.NOT_A_VECTOR, None, "a string"),
        (success("vector", [{"metric": {}, "value": [1, "1"]}] * 1001), Reason.TOO_MUCH, None, "1,000 series"),
    ],
)  # fmt: skip
async def test_what_is_no_answer(answer, reason, status, told):
    found = await answer_of(answer)
    assert isinstance(found, NoAnswer)
    assert (found.reason, found.status) == (reason, status)
    assert told in found.message
    assert len(found.message) < 500
    assert "up" not in found.message.split()


@pytest.mark.parametrize(
    ("kind", "result", "values"),
    [
        ("scalar", [1, "2"], [2.0]),
        ("vector", [], []),
        (
            "vector",
            [{"metric": {}, "value": [1, "+Inf"]}, {"metric": {}, "value": [1, "-1e-3"]}],
            [float("inf"), -0.001],
        ),
    ],
)
async def test_what_is_an_answer(kind, result, values):
    assert [sample.value for sample in await answer_of(success(kind, result))] == values


async def test_not_a_number_is_a_value():
    (sample,) = await answer_of(success("scalar", [1, "NaN"]))
    assert sample.value != sample.value  # noqa: PLR0124 - NaN


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
async def test_a_large_answer_is_not_read_to_its_end(packed):
    large = success("vector", [{"metric": {"a": "b" * 1000}, "value": [1, "1"]}] * 20_000)
    if packed:
        body = gzip.compress(json.dumps({"data": "x" * (64 << 20)}).encode())
        large = replying(200, body, content_encoding="gzip")
    found = await answer_of(large)
    assert (found.reason, found.message) == (Reason.TOO_MUCH, "the answer has more than 1 MiB: aggregate the series")


async def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
    with asking(url) as prometheus:
        found = (await prometheus.ask({"q": "up"}, AT))["q"]
    assert found == NoAnswer(Reason.UNREACHABLE, f"no connection to {url}: [Errno 111] Connection refused")


async def test_a_name_that_nobody_knows():
    with asking("http://prometheus.invalid") as prometheus:
        found = (await prometheus.ask({"q": "up"}, AT))["q"]
    assert found.reason is Reason.UNREACHABLE
    assert found.message.startswith(
        "no connection to http://prometheus.invalid: Failed to resolve 'prometheus.invalid'"
    )


async def test_a_certificate_authority_that_is_missing(tmp_path):
    with asking("https://127.0.0.1:1", ca_file=str(tmp_path / "ca.crt")) as prometheus:
        found = (await prometheus.ask({"q": "up"}, AT))["q"]
    assert found.reason is Reason.UNREACHABLE
    assert str(tmp_path / "ca.crt") in found.message


async def test_a_server_that_never_answers_does_not_hold_the_loop():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and that is all
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with asking(url, timeout_s=QUICK_S) as prometheus:
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.01)

            ticking = asyncio.create_task(tick())
            began = time.monotonic()
            # More than there are threads: who never has a turn is answered as well.
            answers = await prometheus.ask({f"q{i}": "up" for i in range(30)}, AT)
            took = time.monotonic() - began
            ticking.cancel()
    assert {answer.reason for answer in answers.values()} == {Reason.TIMEOUT}
    assert answers["q0"].message == f"no answer from {url} within 0.4 s"
    assert answers["q29"].message == f"no answer from {url} within 0.8 s"
    assert QUICK_S <= took < 2 * QUICK_S + 0.5
    assert ticks > took * 30


async def test_an_answer_that_trickles_in_does_not_hold_its_thread():
    def trickle(handler):
        handler.send_response(200)
        handler.send_header("content-length", "100000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(100):
                handler.wfile.write(b" ")
                time.sleep(0.05)

    with serving(trickle) as server:
        began = time.monotonic()
        found, _ = await asyncio.to_thread(ask, PrometheusConfig(server.url, timeout_s=QUICK_S), "up", AT)
        assert time.monotonic() - began < 2 * QUICK_S
    assert (found.reason, found.message) == (Reason.TIMEOUT, f"no answer from {server.url} within 0.4 s")


async def test_a_look_that_is_given_up_asks_no_more():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with asking(url, timeout_s=QUICK_S) as prometheus:
            look = asyncio.create_task(prometheus.ask({f"q{i}": "up" for i in range(30)}, AT))
            await asyncio.sleep(0.05)
            look.cancel()
            with pytest.raises(asyncio.CancelledError):
                await look
            began = time.monotonic()
            with serving(VECTOR) as server, asking(server.url) as other:
                await other.ask({"q": "up"}, AT)
            assert time.monotonic() - began < QUICK_S


async def test_the_token_is_read_for_every_question(tmp_path):
    token = tmp_path / "token"

    def guarded(handler):
        known = handler.headers["authorization"] == "Bearer new"
        (VECTOR if known else replying(401, b"expired"))(handler)

    with serving(guarded) as server, asking(server.url, bearer_token_file=str(token)) as prometheus:
        missing = (await prometheus.ask({"q": "up"}, AT))["q"]
        assert missing.reason is Reason.UNAUTHORIZED
        assert str(token) in missing.message
        assert server.seen == []  # nothing is asked without the token that was wanted
        token.write_text("old\n")
        assert (await prometheus.ask({"q": "up"}, AT))["q"].status == 401
        token.write_text("new\n")
        assert (await prometheus.ask({"q": "up"}, AT))["q"] == (Sample(1.5, {"job": "a"}),)


@pytest.mark.parametrize("text", ["", "\n", "two words", "a\nb", "é"])
async def test_a_file_that_holds_no_token(text, tmp_path):
    token = tmp_path / "token"
    token.write_text(text)
    found = await answer_of(VECTOR, bearer_token_file=str(token))
    assert found.reason is Reason.UNAUTHORIZED


async def test_a_netrc_is_not_shown_to_prometheus(tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(VECTOR) as server, asking(server.url) as prometheus:
        await prometheus.ask({"q": "up"}, AT)
        assert "Authorization" not in server.seen[0][2]


async def test_a_warning_is_logged_once(caplog):
    warned = success("vector", [], warnings=["a store is not there"], infos=["not a counter?"])
    with serving(warned) as server, asking(server.url) as prometheus, caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert (await prometheus.ask({"a": "up", "b": "up"}, AT)) == {"a": (), "b": ()}
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("inferenceversion")]
    assert ours == ["Prometheus warns: a store is not there"]


def test_the_page_explains_every_reason():
    page = (Path(__file__).parents[3] / "docs/prometheus.md").read_text()
    assert [reason.value for reason in Reason if f"| `{reason.value}` |" not in page] == []


def test_an_operator_without_prometheus_does_not_pay_for_the_library():
    code = "import sys, inferenceversion_operator.config; print('prometheus_api_client' in sys.modules, 'pandas' in sys.modules)"
    environ = {"PYTHONPATH": str(Path(__file__).parents[3] / "operator")}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
