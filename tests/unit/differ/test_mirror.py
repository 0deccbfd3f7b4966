"""A real Envoy mirrors to the differ as a Gateway does, and a real guard tells its replays from live requests."""

import re

import aiohttp
import grpc.aio
import pytest

from inferenceversion_operator.core.objects.guard import make_guard_bootstrap
from inferenceversion_operator.differ.listen.grpc import METHOD
from inferenceversion_operator.differ.run import Ports, running
from tests.support.envoy import ADMIN_PORT, Envoy
from tests.support.envoy_version import version
from tests.support.ports import free_ports
from tests.unit.differ.support import INFER, a_plan, grpc_answer, json_answer
from tests.unit.differ.upstream import eventually

HTTP, GRPC = 8080, 8081
LIVE_HTTP, LIVE_GRPC, DIFFER_HTTP, DIFFER_GRPC = 1, 2, 3, 4  # stand for the ports of the upstreams
_EXTENSIONS = "type.googleapis.com/envoy.extensions"


def socket(port):
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def cluster(name, port, *, h2):
    protocol = {"http2_protocol_options" if h2 else "http_protocol_options": {}}
    options = {
        "@type": f"{_EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": protocol,
    }
    return {
        "name": name,
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": socket(port)}}]}],
        },
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
    }


def listener(port, live, differ):
    """Return a listener whose one route goes to ``live``, with a copy of everything to ``differ``."""
    share = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
    route = {
        "match": {"prefix": "/"},
        "route": {"cluster": live, "request_mirror_policies": [{"cluster": differ, "runtime_fraction": share}]},
    }
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{_EXTENSIONS}.filters.http.router.v3.Router"},
    }
    manager = {
        "@type": f"{_EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": live,
        "route_config": {"virtual_hosts": [{"name": live, "domains": ["*"], "routes": [route]}]},
        "http_filters": [router],
    }
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    return {"name": live, "address": socket(port), "filter_chains": [{"filters": filters}]}


GATEWAY = {
    "admin": {"address": socket(ADMIN_PORT)},
    "static_resources": {
        "listeners": [listener(HTTP, "live_http", "differ_http"), listener(GRPC, "live_grpc", "differ_grpc")],
        "clusters": [
            cluster("live_http", LIVE_HTTP, h2=False),
            cluster("live_grpc", LIVE_GRPC, h2=True),
            cluster("differ_http", DIFFER_HTTP, h2=False),
            cluster("differ_grpc", DIFFER_GRPC, h2=True),
        ],
    },
}


@pytest.fixture
def guard(stable):
    """The guard of the stable version."""
    with Envoy(make_guard_bootstrap(version()), {8000: stable.http_port, 8001: stable.grpc_port}) as envoy:
        yield envoy


class Guarded:
    def __init__(self, guard):
        self.ports = (guard.port(HTTP), guard.port(GRPC))


async def pieces():
    for _ in range(5):
        yield b"x" * 10_000


async def test_copies_of_a_gateway_arrive_and_the_guard_counts_replays_as_shadow(stable, candidate, guard):
    ports = Ports("127.0.0.1", *free_ports(3))
    plan = a_plan(stable=Guarded(guard).ports, candidate=candidate.ports, queue=100)
    live = {LIVE_HTTP: guard.port(HTTP), LIVE_GRPC: guard.port(GRPC)}
    upstream = {**live, DIFFER_HTTP: ports.http, DIFFER_GRPC: ports.grpc}
    async with running(plan, ports) as parts, aiohttp.ClientSession() as session:
        with Envoy(GATEWAY, upstream) as gateway:
            url = f"http://127.0.0.1:{gateway.port(HTTP)}{INFER}"
            for body in (b"{}", b"x" * 60_000, pieces()):
                async with session.post(url, data=body, headers={"x-inference-version": "9.9.9"}) as answer:
                    assert await answer.read() == json_answer()
            async with session.get(f"http://127.0.0.1:{gateway.port(HTTP)}/v2/health/ready") as answer:
                await answer.read()
            async with grpc.aio.insecure_channel(f"127.0.0.1:{gateway.port(GRPC)}") as channel:
                for message in (b"m", b"m" * 60_000):
                    assert await channel.unary_unary(METHOD)(message) == grpc_answer()
            await eventually("waiting until all were compared", lambda: parts.tally.compared == 5)
        assert parts.tally.mismatched == parts.tally.failed.total() == 0
        assert parts.tally.dropped == {why: int(why.value == "not_inference") for why in parts.tally.dropped}
        async with session.get(f"http://127.0.0.1:{guard.port(9902)}/stats/prometheus") as answer:
            counted = requests_by_traffic(await answer.text())
    assert sorted(len(body) for *_, body in candidate.asked) == [2, 50_000, 60_000]
    assert sorted(len(message) for message, _ in candidate.asked_grpc) == [1, 60_000]
    assert counted == {("inference_http", "shadow"): 3, ("inference_grpc", "shadow"): 2} | {
        ("inference_http", "other"): 4,
        ("inference_grpc", "other"): 2,
    }


def requests_by_traffic(text):
    """Return the guard's numbers of requests by door and by virtual cluster."""
    found = {}
    for line in text.splitlines():
        if line.startswith("envoy_vhost_vcluster_upstream_rq_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            found[labels["envoy_virtual_host"], labels["envoy_virtual_cluster"]] = int(line.split()[-1])
    return found
