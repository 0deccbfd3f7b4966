"""What Prometheus reads from a guard: whose it is, and how each outcome is counted."""

import contextlib
import http.client
import re
import threading
import urllib.request
from dataclasses import replace

import grpc
import pytest

from inferenceversion_operator.core.objects.guard import make_guard_bootstrap, metric_labels
from tests.support.envoy import Envoy
from tests.support.envoy_client import (
    CONCURRENCY,
    INFER,
    LIMIT,
    SLOW_INFER,
    VERSION,
    labelled_metrics,
    metrics,
    request,
)
from tests.support.envoy_upstream import SERVICE, SLOW, STATUS
from tests.support.wait import wait_until

OURS = ",".join(f'{name}="{value}"' for name, value in metric_labels(VERSION).items())
LANES = ("inference_http", "inference_grpc")


def http_metric(name, lane="inference_http", **more):
    return _series(f"envoy_http_{name}", envoy_http_conn_manager_prefix=lane, **more)


def http_class(digit, lane="inference_http"):
    labels = {"envoy_response_code_class": digit, "envoy_http_conn_manager_prefix": lane}
    return _series("envoy_http_downstream_rq_xx", **labels)


def grpc_status(code):
    return _series("envoy_cluster_grpc", envoy_cluster_name="triton_grpc", grpc_status=code)


def _series(name, **labels):
    inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inner}}}"


@pytest.fixture
def change(envoy):
    """Wait for a counter that differs from when the test began; return by how much."""
    before = metrics(envoy)
    return lambda series: wait_until(
        series, lambda: metrics(envoy).get(series, 0) - before.get(series, 0), within=10, every=0.05
    )


def test_every_metric_says_whose_it_is(call, ask, envoy):
    assert metric_labels(VERSION) == {
        "inference_namespace": "news",
        "inference_endpoint": "news-sentiment",
        "inference_version": "2.4.1+build.7",
        "inference_name": "news-sentiment-2-4-1-6247f300",
    }
    ask("POST", INFER, b"1")
    call("ModelInfer", b"1")
    wait_until("the call is counted", lambda: grpc_status(0) in metrics(envoy), within=10)
    assert [series for series in labelled_metrics(envoy) if OURS not in series] == []
    for lane in LANES:
        assert http_metric("downstream_rq_time_bucket", lane, le="83") in metrics(envoy)


@pytest.mark.parametrize(
    ("version", "label"), [("2.4.1-rc.1+build.7", "2.4.1-rc.1+build.7"), ('a"b\\c\nd%é{}', r"a\"b\\c?d%?{}")]
)
def test_a_label_can_hold_what_a_version_can_be_called(version, label, upstream):
    bootstrap = make_guard_bootstrap(replace(VERSION, version=version))
    with Envoy(bootstrap, {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        url = f"http://127.0.0.1:{envoy.port(9902)}/stats/prometheus"
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
    assert set(re.findall(r'inference_version="((?:[^"\\]|\\.)*)"', text)) == {label}


def test_what_exists_before_the_first_request(upstream):
    with Envoy(make_guard_bootstrap(VERSION), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        seen = metrics(envoy)
    for lane in LANES:
        for name in ("downstream_rq_total", "downstream_rq_overload_close", "downstream_rq_tx_reset"):
            assert seen[http_metric(name, lane)] == 0
        assert [seen[http_class(digit, lane)] for digit in "2345"] == [0] * 4
        assert seen[http_metric("downstream_rq_time_count", lane)] == 0
        for bound in ("1", "83", "112.5", "600", "+Inf"):
            assert seen[http_metric("downstream_rq_time_bucket", lane, le=bound)] == 0
    # These appear with the first of their kind; the day they do earlier, the gates' queries can be simpler.
    assert not [series for series in seen if series.startswith(("envoy_cluster_grpc", "envoy_cluster_upstream_rq_xx"))]


def test_grpc_answers_are_counted_by_status(call, change):
    call("ModelInfer", b"1")
    for code in (13, 3):
        assert call("ModelInfer", STATUS + str(code).encode()).code().value[0] == code
    assert [change(grpc_status(code)) for code in (0, 3, 13)] == [1, 1, 1]
    assert change(http_class(2, "inference_grpc")) == 3  # HTTP alone sees nothing wrong


def test_what_the_guard_itself_says_to_grpc_is_counted_by_status(call, change, upstream):
    call("ModelInfer", SLOW)
    call("ModelInfer", b"x" * (LIMIT + 1))
    upstream.reset()
    threads = [threading.Thread(target=call, args=("ModelInfer", SLOW)) for _ in range(CONCURRENCY)]
    for thread in threads:
        thread.start()
    upstream.wait_entered(CONCURRENCY)
    assert call("ModelInfer", b"").code() is grpc.StatusCode.UNAVAILABLE
    upstream.release.set()
    for thread in threads:
        thread.join()
    assert [change(grpc_status(code)) for code in (0, 4, 8, 14)] == [CONCURRENCY, 1, 1, 1]


def test_what_is_not_there_or_closed_has_no_status_of_grpc(call, change, envoy):
    before = sum(value for series, value in metrics(envoy).items() if series.startswith("envoy_cluster_grpc"))
    call("RepositoryModelLoad")
    call("Nothing", service="some.Service")
    assert change(http_metric("downstream_rq_total", "inference_grpc")) == 2
    after = sum(value for series, value in metrics(envoy).items() if series.startswith("envoy_cluster_grpc"))
    assert after == before


def test_grpc_without_triton_is_unavailable_and_counted(upstream):
    dead = {8000: upstream.http_port, 8001: 1}
    with Envoy(make_guard_bootstrap(VERSION), dead) as envoy:
        with grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}") as channel, pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary(f"/{SERVICE}/ModelInfer")(b"", timeout=10)
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
        wait_until("it is counted", lambda: metrics(envoy).get(grpc_status(14)), within=10)


def test_http_answers_are_counted_by_class(ask, change):
    ask("POST", INFER, b"1")
    ask("POST", "/v2/models/broken/infer", b"1")
    ask("POST", SLOW_INFER, b"1")
    ask("POST", INFER, b"x" * (LIMIT + 1))
    assert [change(http_class(digit)) for digit in "245"] == [1, 1, 2]


def test_an_answer_that_breaks_off_is_counted_though_it_began_well(envoy, change):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", envoy.port(8080), timeout=10)) as connection:
        connection.request("POST", "/v2/models/cut/infer", b"1")
        answer = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead):
            answer.read()
    assert change(http_metric("downstream_rq_tx_reset")) == 1
    assert change(http_class(2)) == 1


def test_requests_refused_for_want_of_memory_are_counted(upstream):
    bootstrap = make_guard_bootstrap(VERSION)
    (heap,) = (one for one in bootstrap["overload_manager"]["resource_monitors"] if "heap" in one["name"])
    heap["typed_config"]["max_heap_size_bytes"] = 1 << 20  # Envoy itself needs more
    closing = "envoy.overload_actions.stop_accepting_connections"
    actions = bootstrap["overload_manager"]["actions"]
    bootstrap["overload_manager"]["actions"] = [action for action in actions if action["name"] != closing]
    with Envoy(bootstrap, {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        active = "envoy_overload_envoy_overload_actions_stop_accepting_requests_active{}"
        wait_until("it refuses", lambda: metrics(envoy).get(active), within=10)
        assert request(envoy, "POST", INFER, b"1").status == 503
        with grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}") as channel, pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary(f"/{SERVICE}/ModelInfer")(b"", timeout=10)
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
        seen = wait_until(
            "both are counted",
            lambda: (now := metrics(envoy))[http_metric("downstream_rq_overload_close", "inference_grpc")] and now,
            within=10,
        )
    assert seen[http_metric("downstream_rq_overload_close")] == 1
    assert seen[http_class(5)] == 1  # HTTP knows it by its class
    assert grpc_status(14) not in seen  # gRPC by that counter only
