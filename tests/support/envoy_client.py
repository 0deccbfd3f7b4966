"""Clients of a guard in tests: every answer they get must carry the stamp of the version."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterable, Mapping

from inferenceversion_operator.core.objects.guard import metric_labels
from tests.support.envoy import Envoy
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


def request(
    envoy: Envoy,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    *,
    port: int = 8080,
    chunked: bool = False,
) -> "Answer":
    """Return the answer to one HTTP request (``status``, ``headers``, ``body``); it carries the stamp."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", envoy.port(port), timeout=10)) as connection:
        source = iter([body or b""]) if chunked else body
        connection.request(method, path, source, dict(headers), encode_chunked=chunked)
        return checked(connection.getresponse())


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"])


def checked(response: http.client.HTTPResponse) -> Answer:
    answer = Answer(response)
    assert_stamped([(name.lower(), value) for name, value in answer.headers.items()])
    return answer


def assert_stamped(headers: Iterable[tuple[str, str]]) -> None:
    for name, value in STAMP.items():
        assert [seen for key, seen in headers if key == name] == [value]


def raw(envoy: Envoy, request: bytes, port: int = 8080) -> Answer:
    """Send bytes and return the stamped answer to them."""
    with socket.create_connection(("127.0.0.1", envoy.port(port)), timeout=10) as connection:
        connection.sendall(request)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return checked(response)


def metrics(envoy: Envoy) -> dict[str, float]:
    """Return the metrics as ``{series: value}``, without the labels that all of them have."""
    ours = "".join(f'{name}="{value}",' for name, value in metric_labels(VERSION).items())
    seen = {series.replace(ours, ""): value for series, value in labelled_metrics(envoy).items()}
    return {series.replace(ours[:-1], ""): value for series, value in seen.items()}


def labelled_metrics(envoy: Envoy) -> dict[str, float]:
    """Return the metrics as ``{series: value}``."""
    lines = request(envoy, "GET", "/stats/prometheus", port=9902).body.decode().splitlines()
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}
