"""What the guard in front of Triton refuses, says and counts."""

import json
from collections.abc import Iterator

import pytest
import urllib3

from tests.support.cluster_manifests import artifact, sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.cluster_servers import start_file_server, tarball
from tests.support.load import HEADER_DIGEST, HEADER_VERSION, MODEL, ask, failed, infer_body
from tests.support.wait import NotYet, wait_until

INFER = f"/v2/models/{MODEL}/infer"
LIMIT = 2 * 1024 * 1024


class Client:
    """Plain HTTP to one endpoint."""

    def __init__(self, ns: Namespace, endpoint: str) -> None:
        self._target = ns.target(endpoint)
        self._pool = urllib3.PoolManager(retries=False, timeout=20)

    def send(self, method: str, path: str, **more) -> urllib3.BaseHTTPResponse:
        headers = {"Host": self._target.host, "Content-Type": "application/json"}
        return self._pool.request(method, f"http://{self._target.address}{path}", headers=headers, **more)

    def close(self) -> None:
        self._pool.clear()


@pytest.fixture(scope="module")
def running(ns: Namespace, image: str, operator_image: str) -> Namespace:
    """Return the namespace with two endpoints; ``slow`` is the build that takes 150 ms longer, and may take 100."""
    ns.apply(sentiment("1.0.0", image))
    files = start_file_server(ns, operator_image)
    model = {
        "source": files.put("slow.tar.gz", tarball(artifact("slow"))),
        "sourceSecretRef": {"name": files.secret},
    }
    ns.apply(sentiment("1.0.0", image, endpoint="slow", variant="slow", model=model, guardrails={"timeout": "100ms"}))
    for endpoint in ("news", "slow"):
        ns.wait_stable("1.0.0", endpoint)
        wait_until("waiting until the Gateway answers", lambda e=endpoint: ask(ns.target(e)).version, within=30)
    return ns


@pytest.fixture
def client(running) -> Iterator[Client]:
    client = Client(running, "news")
    yield client
    client.close()


def stamped(ns: Namespace, answer: urllib3.BaseHTTPResponse, version: str = "news-1.0.0") -> bool:
    digest = ns.seen("iv", version)["status"]["snapshotDigest"]
    return (answer.headers[HEADER_VERSION], answer.headers[HEADER_DIGEST]) == ("1.0.0", digest)


def big_body(size: int) -> bytes:
    body = json.dumps(infer_body("")).encode()
    return body.replace(b'""', b'"' + b"a" * (size - len(body)) + b'"')


def test_a_request_above_two_mebibytes_is_refused_by_its_announced_length(running, client):
    answer = client.send("POST", INFER, body=big_body(LIMIT + 1))
    assert answer.status == 413
    assert "maxRequestSize" in answer.json()["error"]
    assert stamped(running, answer)


def test_a_request_above_two_mebibytes_is_refused_while_it_arrives(running, client):
    body = big_body(LIMIT + 1)
    pieces = (body[at : at + 65536] for at in range(0, len(body), 65536))
    answer = client.send("POST", INFER, body=pieces, chunked=True)
    assert answer.status == 413
    assert stamped(running, answer)


def test_a_request_of_two_mebibytes_reaches_the_model(running, client):
    answer = client.send("POST", INFER, body=big_body(LIMIT))
    assert answer.status == 200
    assert stamped(running, answer)


def test_more_features_than_the_version_takes_are_refused_by_the_model(running, client):
    answer = client.send("POST", INFER, body=json.dumps(infer_body("late " * 501)).encode())
    assert answer.status == 400
    assert "max_feature_count 500" in answer.json()["error"]
    assert stamped(running, answer)


def test_a_model_that_is_slower_than_the_timeout_is_answered_by_504(running):
    client = Client(running, "slow")
    answer = client.send("POST", INFER, body=json.dumps(infer_body("Ferry is late")).encode())
    assert answer.status == 504
    assert "100 ms" in answer.json()["error"]
    assert stamped(running, answer, "slow-1.0.0")
    client.close()


def test_a_bad_request_is_answered_by_the_model_and_stamped(running, client):
    answer = client.send("POST", INFER, body=json.dumps(infer_body("")).encode())
    assert answer.status == 400
    assert "empty text" in answer.json()["error"]
    assert stamped(running, answer)


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        (f"/v2/repository/models/{MODEL}/unload", (403,)),
        ("/v2/repository/index", (403,)),
        ("/v2/trace/setting", (403,)),
        ("/v2/logging", (403,)),
        ("/v2/systemsharedmemory/region/x/register", (403,)),
        # Spelled otherwise; the Gateway may refuse, redirect or mend it before the guard sees it.
        (f"/v2//repository/models/{MODEL}/unload", (307, 400, 403, 404)),
        (f"/v2/models/../repository/models/{MODEL}/unload", (307, 400, 403, 404)),
        (f"/v2/%72epository/models/{MODEL}/unload", (307, 400, 403, 404)),
    ],
)
def test_what_would_change_the_version_is_closed(running, client, path, statuses):
    answer = client.send("POST", path, body=b"{}")
    assert answer.status in statuses
    assert failed([ask(running.target())]) == []


def test_prometheus_has_the_guards_histogram_with_the_slo_as_a_bucket(running):
    for _ in range(5):
        ask(running.target())

    def buckets() -> set[str]:
        query = (
            f'envoy_http_downstream_rq_time_bucket{{namespace="{running.name}",inferenceversion_io_endpoint="news"}}'
        )
        url = f"{running.cluster.prometheus}/api/v1/query"
        found = urllib3.request("GET", url, fields={"query": query}, timeout=10).json()["data"]["result"]
        counted = [series for series in found if float(series["value"][1]) > 0]
        if not counted:
            raise NotYet(f"{len(found)} series, none with a count")
        return {f"{float(series['metric']['le']):g}" for series in found}

    assert {"80", "100"} <= wait_until("waiting until Prometheus has scraped the guard", buckets, within=30)
