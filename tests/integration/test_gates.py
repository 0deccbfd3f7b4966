"""The gates' own questions on a real Prometheus that scrapes counters which the test moves, and a real guard."""

import asyncio
import re
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import pytest
import yaml

from dev.paths import ROOT
from inferenceversion_operator.adapters.prometheus import NoAnswer, PrometheusConfig
from inferenceversion_operator.adapters.prometheus import Prometheus as Client
from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import Canary, Gate, Shadow, Slo, Step, Traffic
from inferenceversion_operator.core.gates.answers import Sample, Unanswered
from inferenceversion_operator.core.gates.looks import judge, questions
from inferenceversion_operator.core.gates.own import problem_of
from inferenceversion_operator.core.gates.scope import Phase, Scope
from inferenceversion_operator.core.gates.verdict import Verdict
from inferenceversion_operator.core.objects.guard import make_guard_bootstrap
from tests.support.builders import a_version
from tests.support.envoy import Envoy
from tests.support.envoy_client import INFER, SLOW_INFER, VERSION, request
from tests.support.envoy_upstream import SERVICE, STATUS, Upstream
from tests.support.prometheus import Prometheus
from tests.support.wait import NotYet, wait_until

BOUNDS = (40.0, 80.0, 100.0, 200.0)
OWN = Gate("bodies", 'sum(my_bodies{inference_name="{{ name }}"}) + 0 * sum(rate(up[{{ window }}]))', maximum=5)
CANDIDATE = a_version(
    "2.4.1",
    slo=Slo(p95_ms=80, p99_ms=100, error_rate=0.01),
    traffic=Traffic(shadow=Shadow(max_mismatch=0.02), canary=Canary(steps=(Step(10),)), gates=(OWN,)),
)
STABLE = a_version("2.4.0")


class Exporter(ThreadingHTTPServer):
    """What Prometheus scrapes: counters by their series; one that is taken out is gone. ``None`` instead: it fails."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Metrics)
        self.counters = {}
        self.scrapes = 0
        self.fails = False

    def add(self, version, metric, amount, **labels):
        """Let a counter of a version's guard grow; one that there was not begins with the amount."""
        own = {"inference_namespace": version.namespace, "inference_name": version_name(version.name), "pod": "p1"}
        self._add(metric, own | labels, amount)

    def add_differ(self, metric, amount, **labels):
        own = {
            "inference_namespace": CANDIDATE.namespace,
            "inference_endpoint": CANDIDATE.endpoint,
            "inference_version": CANDIDATE.version,
            "inference_stable": STABLE.version,
        }
        self._add(f"inference_shadow_{metric}", own | labels, amount)

    def _add(self, metric, labels, amount):
        inner = ",".join(f'{name}="{value}"' for name, value in labels.items())
        series = f"{metric}{{{inner}}}"
        self.counters[series] = self.counters.get(series, 0) + amount

    def answer(self, version, *, fast=0, slow=0, failed=0, pod="p1"):
        """Let a guard answer requests: fast ones in 30 ms, slow ones in 150 ms; the failed ones are fast."""
        door = {"envoy_http_conn_manager_prefix": "inference_http", "pod": pod}
        self.add(version, "envoy_server_live", 0, pod=pod)
        classes = {"2": fast + slow, "3": 0, "4": 0, "5": failed}
        for digit, amount in classes.items():
            self.add(version, "envoy_http_downstream_rq_xx", amount, envoy_response_code_class=digit, **door)
        for bound in (*BOUNDS, float("inf")):
            amount = fast + failed + (slow if bound >= 150 else 0)
            le = "+Inf" if bound == float("inf") else f"{bound:g}"
            self.add(version, "envoy_http_downstream_rq_time_bucket", amount, le=le, **door)
        self.add(version, "envoy_http_downstream_rq_tx_reset", 0, **door)

    def lose(self, pod):
        """Take all series of a pod away and return them."""
        gone = {series: value for series, value in self.counters.items() if f'pod="{pod}"' in series}
        for series in gone:
            del self.counters[series]
        return gone

    def wait_scraped(self, times=2):
        """Wait until whatever was changed before is in Prometheus for certain."""
        since = self.scrapes
        wait_until(f"there were {times} scrapes", lambda: self.scrapes >= since + times, within=20, every=0.05)


class _Metrics(BaseHTTPRequestHandler):
    def do_GET(self):
        body = "".join(f"{series} {value}\n" for series, value in list(self.server.counters.items())).encode()
        self.send_response(500 if self.server.fails else 200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.scrapes += 1

    def log_message(self, format, *args):  # noqa: A002
        """Say nothing."""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def exporter():
    with Exporter() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def prometheus(exporter, tmp_path):
    if shutil.which("go") is None:
        pytest.skip("Prometheus is built from source: Go is not there")
    with Prometheus(tmp_path, [f"127.0.0.1:{exporter.server_address[1]}"]) as running:
        yield running


@pytest.fixture
def client(prometheus):
    client = Client(PrometheusConfig(prometheus.url))
    yield client
    client.close()


@pytest.fixture
def step(exporter, client):
    return lambda phase=Phase.CANARY, **changes: Looks(exporter, client, phase, **changes)


class Looks:
    """A step that begins now, and looks at its gates."""

    def __init__(self, exporter, client, phase, *, candidate=CANDIDATE, stable=STABLE, pods=None):
        exporter.wait_scraped()
        self._client = client
        status = {"readyReplicas": pods} if pods else {}
        self.scope = Scope(replace(candidate, status=status), stable, phase, datetime.now(UTC), 100)
        exporter.wait_scraped(8)  # windows have whole seconds: what is counted next lies in all of them

    def answers(self):
        """Return the answers to all questions; there is one to each."""
        now = datetime.now(UTC)
        told = asyncio.run(self._client.ask(questions(self.scope, now), now))
        assert not {key: answer for key, answer in told.items() if isinstance(answer, NoAnswer)}
        return {key: tuple(Sample(s.value, s.labels) for s in answer) for key, answer in told.items()}

    def findings(self):
        return {finding.name: finding for finding in judge(self.scope, self.answers())}

    def wait(self, gate, value, *, within=20):
        """Wait until a gate has seen a value; return what all of them say then."""

        def probe():
            findings = self.findings()
            if findings[gate].value != value:
                raise NotYet(findings[gate])
            return findings

        return wait_until(f"{gate} is {value}", probe, within=within)


def verdicts(findings):
    return {name: finding.verdict.value for name, finding in findings.items()}


def test_a_step_counts_its_own_requests_to_the_last_one(exporter, step):
    exporter.answer(CANDIDATE, fast=5000, failed=900)  # before the step
    exporter.answer(STABLE, fast=8000)
    exporter.add(CANDIDATE, "my_bodies", 3)
    a_step = step()
    assert a_step.findings()["requests"].value == "0"
    exporter.answer(CANDIDATE, fast=391, slow=9)
    exporter.answer(STABLE, fast=4000)
    found = a_step.wait("requests", "400")
    assert set(verdicts(found).values()) == {"Inconclusive", "Pass"}
    assert found["p95"].message == "p95 is 38.9 ms over 400 requests, bound 80 ms (slo.p95): 2.25 % were slower"
    assert found["p99"].verdict is Verdict.INCONCLUSIVE  # 2.25 % are above 1 %, and may be chance
    assert found["success-rate"].value == "1"
    assert found["bodies"] == judge(a_step.scope, {"gate.bodies": (Sample(3),)})[-1]
    exporter.answer(CANDIDATE, slow=100)
    found = a_step.wait("requests", "500")
    assert [found[gate].verdict for gate in ("p95", "p99", "p95-vs-stable")] == [Verdict.FAIL] * 3


def test_errors_of_a_kind_that_was_not_there_before_are_all_counted(exporter, step):
    exporter.answer(CANDIDATE, fast=300)
    exporter.add(CANDIDATE, "envoy_cluster_grpc", 1000, grpc_status="0", envoy_cluster_name="triton_grpc")
    a_step = step()
    exporter.add(CANDIDATE, "envoy_cluster_grpc", 100, grpc_status="0", envoy_cluster_name="triton_grpc")
    exporter.wait_scraped()
    # The series is born with its first errors: increase() would say 0, and the gate would pass.
    exporter.add(CANDIDATE, "envoy_cluster_grpc", 25, grpc_status="13", envoy_cluster_name="triton_grpc")
    found = a_step.wait("success-rate", "0.8")["success-rate"]
    assert found.verdict is Verdict.FAIL
    assert found.message.startswith("20 % of 125 requests failed (gRPC status 13: 25)")


def test_a_guard_that_was_restarted_does_not_forget(exporter, step):
    exporter.answer(CANDIDATE, fast=100_000)
    a_step = step()
    exporter.answer(CANDIDATE, fast=100, failed=100)
    exporter.wait_scraped(10)
    exporter.lose("p1")
    exporter.answer(CANDIDATE, fast=50)
    exporter.wait_scraped(10)
    found = a_step.findings()
    # 250 are counted, and Prometheus' own guess beyond the first and last scrape where there was a reset.
    assert 240 <= int(found["requests"].value) <= 330
    assert found["success-rate"].verdict is Verdict.FAIL
    assert 0.5 <= float(found["success-rate"].value) <= 0.7


def test_pods_come_and_go(exporter, step):
    exporter.answer(CANDIDATE, fast=1000, pod="leaves")
    exporter.answer(CANDIDATE, fast=1000, pod="stays")
    a_step = step(pods=2)
    exporter.answer(CANDIDATE, fast=60, pod="leaves")
    exporter.answer(CANDIDATE, fast=70, pod="stays")
    a_step.wait("requests", "130")
    exporter.lose("leaves")
    exporter.wait_scraped()
    left = a_step.findings()["requests"]
    assert (left.value, left.verdict, left.reason) == ("130", Verdict.INCONCLUSIVE, "PodNotScraped")
    exporter.answer(CANDIDATE, fast=80, pod="comes")
    found = a_step.wait("requests", "210")
    assert found["requests"].verdict is Verdict.PASS


def test_nothing_passes_while_the_candidate_is_not_scraped(exporter, step):
    exporter.answer(CANDIDATE, fast=1000)
    exporter.answer(STABLE, fast=1000)
    a_step = step()
    exporter.answer(CANDIDATE, fast=2000)
    exporter.answer(STABLE, fast=2000)
    exporter.add(CANDIDATE, "my_bodies", 3)
    found = a_step.wait("requests", "2000")
    assert set(verdicts(found).values()) == {"Pass"}
    exporter.fails = True
    exporter.wait_scraped()
    found = a_step.findings()
    assert {finding.reason for name, finding in found.items() if name != "bodies"} == {"NotScraped"}
    assert found["p95"].value == "38"
    exporter.fails = False
    wait_until("all pass again", lambda: set(verdicts(a_step.findings()).values()) == {"Pass"}, within=20)


def test_a_baseline_from_before_the_step_where_stable_gets_too_little(exporter, step):
    exporter.answer(CANDIDATE, fast=0)
    exporter.answer(STABLE, fast=10)
    exporter.wait_scraped()
    exporter.answer(STABLE, fast=4000)
    a_step = step()
    exporter.answer(CANDIDATE, fast=500)
    exporter.answer(STABLE, fast=5)
    found = a_step.wait("requests", "500")
    assert found["p95-vs-stable"].verdict is Verdict.PASS
    assert re.search(r"\(38 ms over [34],\d{3} requests\)", found["p95-vs-stable"].message)  # Prometheus' own guess


def test_the_shadow(exporter, step):
    exporter.answer(CANDIDATE, fast=0)
    for metric in ("compared", "mismatched", "noise_compared", "noise_mismatched"):
        exporter.add_differ(f"{metric}_total", 0)
    exporter.add(CANDIDATE, "my_bodies", 3)
    a_step = step(Phase.SHADOW)
    exporter.answer(CANDIDATE, fast=1000)
    exporter.add_differ("compared_total", 1000)
    exporter.add_differ("mismatched_total", 55)
    exporter.add_differ("noise_compared_total", 500)
    exporter.add_differ("noise_mismatched_total", 20)
    exporter.add_differ("failed_total", 7, side="stable")
    for side, negative in (("stable", 300), ("candidate", 310)):
        exporter.add_differ("labels_total", negative, output="LABEL", side=side, label="negative")
        exporter.add_differ("labels_total", 1000 - negative, output="LABEL", side=side, label="positive")
        for bound, count in (("0.5", negative), ("1.0", 1000), ("+Inf", 1000)):
            exporter.add_differ("scores_bucket", count, output="SCORES", side=side, le=bound)
    flip = {"output": "LABEL", "stable_label": "positive", "candidate_label": "negative"}
    exporter.add_differ("label_flips_total", 10, **flip)
    found = a_step.wait("requests", "1000")
    assert verdicts(found) == {
        "requests": "Pass", "mismatch": "Pass", "drift-labels": "Pass", "drift-scores": "Pass",
        "success-rate": "Pass", "p95": "Pass", "p99": "Pass", "bodies": "Pass",
    }  # fmt: skip
    assert found["mismatch"].value == "0.015"
    exporter.add_differ("mismatched_total", 145)
    exporter.add_differ("labels_total", 1500, output="LABEL", side="candidate", label="negative")
    found = a_step.wait("mismatch", "0.16")
    assert [found[gate].verdict for gate in ("mismatch", "drift-labels")] == [Verdict.FAIL, Verdict.FAIL]
    assert "7 more got none from stable" in found["mismatch"].message
    assert "LABEL was 'positive' and is 'negative' (10 times)" in found["mismatch"].message


def test_prometheus_understands_what_the_documentation_shows(step):
    page = (ROOT / "docs" / "gates.md").read_text()
    (block,) = re.findall(r"^```yaml\n(traffic:.*?)^```", page, re.MULTILINE | re.DOTALL)
    gates = tuple(Gate(gate["name"], gate["promql"]) for gate in yaml.safe_load(block)["traffic"]["gates"])
    assert not [problem for gate in gates if (problem := problem_of(gate.promql))]
    candidate = a_version("2.4.1", traffic=Traffic(gates=gates))
    assert {f"gate.{gate.name}" for gate in gates} < step(candidate=candidate).answers().keys()


@pytest.mark.parametrize("phase", [Phase.SHADOW, Phase.CANARY])
def test_prometheus_understands_every_question_before_there_is_anything(phase, step):
    # As asked once before the first step: for a window of a second, about metrics that nobody has exported.
    candidate = a_version("2.4.1+build.7", slo=Slo())
    a_step = step(phase, candidate=candidate, stable=a_version('a"b\\c', name="odd", outputs=many_outputs()))
    assert a_step.answers()
    assert {finding.verdict for finding in a_step.findings().values()} == {Verdict.INCONCLUSIVE}


def many_outputs():
    tensor = CANDIDATE.outputs[0]
    return tuple(type(tensor)(f"OUT.{n}({n})", "BYTES" if n % 2 else "FP32", (1,)) for n in range(40))


def test_a_query_that_prometheus_does_not_understand_is_told_of(step, client):
    broken = a_version("2.4.1", traffic=Traffic(gates=(Gate("broken", "sum(up{", maximum=1),)))
    a_step = step(candidate=broken)
    now = datetime.now(UTC)
    told = asyncio.run(client.ask(questions(a_step.scope, now), now))["gate.broken"]
    finding = judge(a_step.scope, {"gate.broken": Unanswered(told.reason.value, told.message)})[-1]
    assert (finding.verdict, finding.reason) == (Verdict.INCONCLUSIVE, "BadQuery")
    assert "parse error" in finding.message


def test_a_real_guard(tmp_path, exporter):
    bootstrap = make_guard_bootstrap(VERSION)
    with Upstream() as upstream, Envoy(bootstrap, {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        target = f"127.0.0.1:{envoy.port(9902)}"
        with Prometheus(tmp_path, [target], metrics_path="/stats/prometheus") as prometheus:
            client = Client(PrometheusConfig(prometheus.url))
            scope = Scope(VERSION, STABLE, Phase.CANARY, datetime.now(UTC) - timedelta(seconds=1), 10)

            def look():
                now = datetime.now(UTC)
                told = asyncio.run(client.ask(questions(scope, now), now))
                return {f.name: f for f in judge(scope, told)}

            wait_until("it is scraped", lambda: look()["requests"].value == "0", within=20)
            for _ in range(30):
                request(envoy, "POST", INFER, b"1")
            for _ in range(5):
                request(envoy, "POST", "/v2/models/broken/infer", b"1")
            request(envoy, "POST", INFER, b"x" * 200_000)
            request(envoy, "POST", SLOW_INFER, b"1")
            upstream.reset()
            with grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}") as channel:
                call = channel.unary_unary(f"/{SERVICE}/ModelInfer")
                call(b"1", timeout=10)
                for code in (b"3", b"13"):
                    with pytest.raises(grpc.RpcError):
                        call(STATUS + code, timeout=10)

            def all_counted():
                found = look()
                # Each second the guard adds new times to its histogram; its counters are up to date.
                if found["requests"].value != "40" or " over 40 requests" not in found["p95"].message:
                    raise NotYet(found["p95"])
                return found

            found = wait_until("all is counted", all_counted, within=20)
            client.close()
    assert found["success-rate"].verdict is Verdict.FAIL
    assert "17.5 % of 40 requests failed (5xx: 6, gRPC status 13: 1)" in found["success-rate"].message
    assert found["client-errors"].value == "0.05"  # 413 and INVALID_ARGUMENT
    assert "bound 83 ms (slo.p95): 2.5 % were slower" in found["p95"].message  # the one that met the timeout
