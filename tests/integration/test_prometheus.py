"""The gates' questions on a real Prometheus: answers of every kind, and what is said when it is down, slow or closed."""

import asyncio
import base64
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from inferenceversion_operator.adapters.prometheus import Prometheus as Client
from inferenceversion_operator.adapters.prometheus import PrometheusConfig, Reason, Sample
from inferenceversion_operator.core.gates.answers import Sample as GateSample
from inferenceversion_operator.core.gates.answers import Unanswered
from inferenceversion_operator.reconcile.measure import Measurer
from tests.support.prometheus import Prometheus
from tests.support.servers.ca import Ca
from tests.support.wait import wait_until

KEY = ("news", "sentiment")
MANY = 1_500


class Exporter(ThreadingHTTPServer):
    """What Prometheus scrapes: ``lines``."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Metrics)
        self.lines = [f'many{{n="{n}"}} {n}' for n in range(MANY)]


class _Metrics(BaseHTTPRequestHandler):
    def do_GET(self):
        body = "".join(f"{line}\n" for line in self.server.lines).encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module", autouse=True)
def no_proxy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        yield


@pytest.fixture(scope="module")
def exporter():
    with Exporter() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def prometheus(exporter, tmp_path_factory):
    if shutil.which("go") is None:
        pytest.skip("Prometheus is built from source: Go is not there")
    target = f"127.0.0.1:{exporter.server_address[1]}"
    with Prometheus(tmp_path_factory.mktemp("prometheus"), [target]) as running:
        client = Client(PrometheusConfig(running.url))
        wait_until("everything is scraped", lambda: len(answer_now(client, "count(many)")) == 1, within=20)
        client.close()
        yield running


@pytest.fixture
def client(prometheus):
    client = Client(PrometheusConfig(prometheus.url, timeout_s=3.0))
    yield client
    client.close()


async def one(client, query, at=None):
    return (await client.ask({"q": query}, at or datetime.now(UTC)))["q"]


def answer_now(client, query):
    return asyncio.run(one(client, query))


async def test_vectors_and_scalars(client):
    now = datetime.now(UTC)
    answers = await client.ask(
        {"sum": "sum(many)", "labels": 'many{n="7"}', "none": "no_such_metric", "scalar": "scalar(count(many))", "nan": "0/0"}, now
    )  # fmt: skip
    assert answers["sum"] == (Sample(MANY * (MANY - 1) / 2),)
    (seven,) = answers["labels"]
    assert (seven.value, seven.labels["n"], seven.labels["job"]) == (7.0, "7", "tests")
    assert answers["none"] == ()
    assert answers["scalar"] == (Sample(float(MANY)),)
    assert answers["nan"][0].value != answers["nan"][0].value


async def test_all_questions_of_a_look_are_about_the_same_moment(client):
    at = datetime.now(UTC) - timedelta(seconds=1)
    answers = await client.ask({f"q{i}": "vector(time())" for i in range(20)}, at)
    (moment,) = {samples[0].value for samples in answers.values()}
    assert moment == pytest.approx(at.timestamp(), abs=0.001)


@pytest.mark.parametrize(
    ("query", "reason", "told"),
    [
        ("sum(", Reason.BAD_QUERY, "parse error: unclosed left parenthesis"),
        ('count_over_time({__name__=~"up|scrape_.+"}[1m])', Reason.BAD_QUERY, "same labelset"),
        ('"text"', Reason.NOT_A_VECTOR, "a string"),
        ("many[1m]", Reason.NOT_A_VECTOR, "a matrix"),
        ("many", Reason.TOO_MUCH, "more than 1,000 series"),
    ],
)
async def test_questions_that_get_no_answer(query, reason, told, client):
    found = await one(client, query)
    assert found.reason is reason
    assert told in found.message


async def test_a_wrong_path_is_told_with_the_address(prometheus):
    client = Client(PrometheusConfig(f"{prometheus.url}/prometheus"))
    found = await one(client, "up")
    client.close()
    assert (found.reason, found.status) == (Reason.HTTP_ERROR, 404)
    assert f"{prometheus.url}/prometheus answers 404" in found.message


async def test_a_query_that_takes_too_long(prometheus):
    client = Client(PrometheusConfig(prometheus.url, timeout_s=0.3))
    began = time.monotonic()
    found = await one(client, "sum_over_time((count(many) * vector(1))[7d:100ms])")
    client.close()
    assert found.reason is Reason.TIMEOUT
    assert time.monotonic() - began < 2


async def test_killed_and_back_again(tmp_path):
    with Prometheus(tmp_path) as running:
        client = Client(PrometheusConfig(running.url))
        assert await one(client, "1") == (Sample(1.0),)
        running.kill()
        down = await one(client, "1")
        assert down.reason is Reason.UNREACHABLE
        assert "Connection refused" in down.message
        running.start()
        assert await one(client, "1") == (Sample(1.0),)
        client.close()


async def test_users_and_certificates(tmp_path):
    ca = Ca(tmp_path, ("127.0.0.1",))
    hashed = "$2b$04$DQBCkTBYXmrEVaQzVNS4lu7YgFRyIO.z3XKu3SdXUSL0PcWDBQdwm"  # of "open sesame"
    login = base64.b64encode(b"operator:open sesame").decode()
    token = tmp_path / "token"
    token.write_text("open-sesame")
    web = {
        "tls_server_config": {"cert_file": str(ca.cert), "key_file": str(ca.key)},
        "basic_auth_users": {"operator": hashed},
    }
    found = []
    with Prometheus(tmp_path, web=web) as running:
        for settings in (
            {},
            {"ca_file": str(ca.bundle)},
            {"ca_file": str(ca.bundle), "bearer_token_file": str(token)},
            {"ca_file": str(ca.bundle), "headers": {"Authorization": f"Basic {login}"}},
        ):
            client = Client(PrometheusConfig(running.url, **settings))
            found.append(await one(client, "1"))
            client.close()
    stranger, nobody, wrong, known = found
    assert stranger.reason is Reason.UNREACHABLE
    assert "certificate verify failed" in stranger.message
    assert [nobody.status, wrong.status] == [401, 401]
    assert known == (Sample(1.0),)


async def test_what_increase_misses_of_a_counter_that_is_born_with_a_value(exporter, client):
    # The guard's counters of a status of gRPC appear with their first call: the gates' own counting is there for that.
    began = datetime.now(UTC)
    exporter.lines.append("born_total 5")
    try:
        scraped = "count_over_time(born_total[1m]) >= 3"
        await asyncio.to_thread(wait_until, scraped, lambda: answer_now(client, scraped), within=10)
        now = datetime.now(UTC)
        window = f"{(now - began) // timedelta(milliseconds=1)}ms"
        (seen,) = await one(client, f"increase(born_total[{window}])", now)
    finally:
        exporter.lines.remove("born_total 5")
    assert seen.value == 0


async def test_a_look_of_the_operator(prometheus):
    ended = asyncio.Queue()
    client = Client(PrometheusConfig(prometheus.url))
    measurer = Measurer(client.ask, ended.put_nowait)
    measurer.wanted(KEY, "attempt 1, step 0", {"requests": "sum(many)", "broken": "sum("})
    assert measurer.latest(KEY) is None
    assert await asyncio.wait_for(ended.get(), 10) == KEY
    measured = measurer.latest(KEY)
    await measurer.stop()
    client.close()
    assert measured.asked_for == "attempt 1, step 0"
    assert measured.answers["requests"] == (GateSample(MANY * (MANY - 1) / 2, {}),)
    broken = measured.answers["broken"]
    assert isinstance(broken, Unanswered)
    assert (broken.reason, "unclosed left parenthesis" in broken.message) == ("BadQuery", True)
