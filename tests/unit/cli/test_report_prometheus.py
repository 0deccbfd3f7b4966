"""The plots of a report, read from a real Prometheus that scrapes what two guards tell."""

import json
import shutil
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.cli.prometheus import PrometheusError, fetch_series
from inferenceversion_operator.cli.views.report.evidence import Report
from inferenceversion_operator.core.conditions import timestamp
from tests.support.prometheus import Prometheus
from tests.support.wait import NotYet, wait_until

NAMES = {"2.4.1": "news-2.4.1", "2.4.0": "news-2.4.0"}
# Of ten answers: how many take up to 50 and up to 100 ms, and how many are 5xx.
BEHAVIOUR = {"2.4.1": (5, 10, 1), "2.4.0": (10, 10, 0)}


def told(count):
    """What the guards of both versions tell after so many answers."""
    lines = []
    for version, (to_50, to_100, broken) in BEHAVIOUR.items():
        labels = f'inference_namespace="news",inference_name="{version_name(NAMES[version])}"'
        door = f'{labels},envoy_http_conn_manager_prefix="inference_http"'
        times = {"25": 0, "50": to_50, "100": to_100, "+Inf": 10}
        lines += [f'envoy_http_downstream_rq_time_bucket{{{door},le="{le}"}} {n * count}' for le, n in times.items()]
        classes = {"2": 10 - broken, "5": broken} if broken else {"2": 10}
        lines += [
            f'envoy_http_downstream_rq_xx{{{door},envoy_response_code_class="{name}"}} {n * count}'
            for name, n in classes.items()
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def guards():
    began = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = told(int((time.monotonic() - began) * 100)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def prometheus(guards, tmp_path_factory):
    if shutil.which("go") is None:
        pytest.skip("Prometheus is built from source: Go is not there")
    with Prometheus(tmp_path_factory.mktemp("prometheus"), [guards]) as running:
        yield running


def report(begin, end):
    moments = {"since": timestamp(begin), "until": timestamp(end)}
    return Report("news", "news-sentiment", "2.4.1", "Promoted", timestamp(end), **moments)


def test_both_versions_over_the_time_of_the_release(prometheus):
    began = datetime.now(UTC)

    def look():
        series = fetch_series(prometheus.url, report(began, datetime.now(UTC)), NAMES).series
        last = {(s.measure, s.version): [p.value for p in s.points if p.value is not None] for s in series}
        if not all(last.values()):
            raise NotYet({key: len(values) for key, values in last.items()})
        return {key: values[-1] for key, values in last.items()}

    seen = wait_until("every measure has a point", look, within=30)
    assert seen["success", "2.4.1"] == pytest.approx(90, abs=0.5)
    assert seen["success", "2.4.0"] == 100  # no series of 5xx is no error
    assert 50 < seen["p95", "2.4.1"] <= 100
    assert 25 < seen["p95", "2.4.0"] <= 50
    assert seen["p95", "2.4.1"] < seen["p99", "2.4.1"]
    assert seen["requests", "2.4.1"] > 0


def test_a_time_of_which_nothing_is_known(prometheus):
    long_ago = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 9, tzinfo=UTC)
    series = fetch_series(prometheus.url, report(*long_ago), NAMES).series
    assert len(series) == 8
    assert not any(p.value is not None for s in series for p in s.points)


def test_what_prometheus_refuses_is_told(prometheus):
    backwards = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(PrometheusError, match=r"Prometheus at http://127\.0\.0\.1:\d+: "):
        fetch_series(prometheus.url, report(*backwards), NAMES)


def test_a_prometheus_that_knows_nothing_of_the_time_is_told(prometheus, iv, cluster):
    result = iv("report", "news-sentiment", "--prometheus", prometheus.url, "-o", "json")
    assert result.exit_code == 0
    assert "has nothing of these versions and this time" in json.loads(result.stdout)["seriesMissing"]
