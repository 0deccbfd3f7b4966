"""Probes, metrics, and the end of a pod."""

import contextlib
import http.client

import grpc
import pytest

from inferenceversion_operator.core.objects.guard import drain_path, make_guard_bootstrap
from tests.support.envoy import Envoy
from tests.support.envoy_client import (
    INFER,
    LIMIT,
    VERSION,
    checked,
    metrics,
    request,
)
from tests.support.envoy_upstream import SERVICE
from tests.support.wait import wait_until


@pytest.mark.parametrize(("path", "status"), [("/ready", 200), ("/v2/health/live", 200), ("/v2/health/ready", 200)])
def test_probe_paths(ask, path, status):
    assert ask("GET", path, port=9902).status == status


@pytest.mark.parametrize("path", ["/quitquitquit", "/config_dump", "/", "/stats", "/ready/../quitquitquit", INFER])
def test_admin_is_not_reachable_through_the_probe_port(ask, path):
    assert ask("POST", path, b"", port=9902).status == 404


def test_metrics_hold_the_slo_and_the_timeout_as_bounds(ask, envoy):
    ask("POST", INFER, b"x" * 500)
    ask("POST", INFER, b"x" * 500, {"x-inference-traffic": "shadow"})
    shadow = (
        'envoy_vhost_vcluster_upstream_rq_total{envoy_virtual_cluster="shadow",envoy_virtual_host="inference_http"}'
    )
    size = f'envoy_cluster_upstream_rq_body_size_bucket{{envoy_cluster_name="triton_http",le="{LIMIT}"}}'

    def counted():
        seen = metrics(envoy)
        return seen.get(shadow) == 1 and seen.get(size, 0) >= 2

    wait_until("both requests are counted", counted, within=10)
    seen = metrics(envoy)
    for bound in ("83", "112.5", "600", "+Inf"):
        for lane in ("inference_http", "inference_grpc"):
            assert (
                f'envoy_http_downstream_rq_time_bucket{{envoy_http_conn_manager_prefix="{lane}",le="{bound}"}}' in seen
            )
    assert len(seen) < 400


def test_shed_requests_are_counted(envoy):
    name = "envoy_http_adaptive_concurrency_gradient_controller_rq_blocked"
    assert f'{name}{{envoy_http_conn_manager_prefix="inference_http"}}' in metrics(envoy)


def test_drain_sends_clients_elsewhere_and_still_serves_them(upstream):
    with Envoy(make_guard_bootstrap(VERSION), {8000: upstream.http_port, 8001: upstream.grpc_port}) as envoy:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", envoy.port(8080), timeout=10)) as kept:
            kept.request("GET", "/v2")
            assert checked(kept.getresponse()).headers["connection"] is None
            assert request(envoy, "GET", drain_path(VERSION), port=9902).status == 200
            kept.request("GET", "/v2")
            last = checked(kept.getresponse())
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert request(envoy, "GET", "/v2").status == 200  # on a new connection
        with grpc.insecure_channel(f"127.0.0.1:{envoy.port(8081)}") as channel:
            assert channel.unary_unary(f"/{SERVICE}/ModelInfer")(b"12", timeout=10) == b"2"


@pytest.mark.parametrize("path", ["/drain", "/drain/", "/drain/0123456789abcdef0123456789abcdef"])
def test_drain_is_for_those_who_know_the_version(ask, path):
    assert ask("GET", path, port=9902).status == 404
