"""What stands around a release breaks, or has its hands full: requests go on as before."""

import asyncio
import threading
import time

import aiohttp
import pytest

from tests.support.cluster_models import python_model
from tests.support.cluster_namespace import Namespace
from tests.support.cluster_servers import folder_hash, start_file_server, tarball
from tests.support.load import Answer, Load, Target, ask, ask_async, failed, versions_of
from tests.support.releases import canary, good, serve, status_of, wait_outcome, wait_step
from tests.support.wait import wait_until

OLD, NEW = "2.4.0", "2.4.1"
IN_FLIGHT = 1000
# Answers each batch after half a second, as a large model does; costs no processor.
PATIENT = b"""\
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.5)
        return [self.answer(request) for request in requests]

    def answer(self, request):
        count = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().shape[0]
        labels = pb_utils.Tensor("LABEL", np.array([[b"neutral"]] * count, dtype=np.object_))
        scores = pb_utils.Tensor("SCORES", np.zeros((count, 3), dtype=np.float32))
        return pb_utils.InferenceResponse(output_tensors=[labels, scores])
"""


def test_a_canary_waits_for_a_gateway_whose_controller_is_down_and_loses_nothing(ns: Namespace, image: str):
    serve(ns, image, OLD)
    system = ns.cluster.as_user.inside("envoy-gateway-system")
    with Load(ns.target(), rate=20) as load:
        system.run("scale", "deployment/envoy-gateway", "--replicas=0")
        try:
            ns.apply(good(NEW, image, traffic=canary(20)))
            wait_step(ns, NEW, 0, begun=False)
            wait_until(
                "waiting until the endpoint says that the Gateway does nothing",
                lambda: "Gateway inference has not seen" in ns.condition("iep", "news", "Ready")["message"],
                within=30,
            )
            assert "since" not in status_of(ns)["candidate"]
            assert set(versions_of(load.last(20))) == {OLD}
        finally:
            system.run("scale", "deployment/envoy-gateway", "--replicas=1")
        wait_outcome(ns, NEW, "Promoted")
        wait_until(f"waiting until {NEW} answers alone", lambda: set(versions_of(load.last(30))) == {NEW}, within=30)
    assert failed(load.answers) == []


@pytest.fixture(scope="module")
def patient(ns: Namespace, image: str, operator_image: str) -> Namespace:
    """Return the namespace with an endpoint whose model takes half a second a batch; 2.4.1 stable, 2.4.0 warm."""
    files = start_file_server(ns, operator_image)
    model = {"model.py": PATIENT}
    source = files.put("patient.tar.gz", tarball(model))
    for version, timeout in ((OLD, "60s"), (NEW, "59s")):
        ns.apply(
            python_model(
                version,
                image,
                source,
                folder_hash(model),
                endpoint="patient",
                model={"sourceSecretRef": {"name": files.secret}},
                triton={"maxBatchSize": 128, "dynamicBatching": {"preferredBatchSizes": [128]}},
                guardrails={"timeout": timeout, "maxConcurrency": 4 * IN_FLIGHT},
            )
        )
        ns.wait_stable(version, "patient")
    wait_until("waiting until the Gateway answers", lambda: not failed([ask(ns.target("patient"))]), within=30)
    return ns


def test_a_rollback_under_a_thousand_requests_in_flight_fails_none(patient: Namespace):
    burst = Burst(patient.target("patient"))
    burst.start()
    wait_until("waiting until the requests are under way", lambda: burst.under_way >= IN_FLIGHT, within=60)
    with Load(patient.target("patient"), rate=10, timeout=60) as load:
        asked = time.monotonic()
        patient.kubectl.patch("iep", "patient", {"spec": {"version": OLD}})
        wait_until(
            "waiting until 2.4.0 alone answers what is new",
            lambda: load.since(asked + 1)[:20] and set(versions_of(load.since(asked + 1))) == {OLD},
            within=60,
        )
    burst.join(90)
    assert len(burst.answers) == IN_FLIGHT
    assert failed(burst.answers) == []
    assert failed(load.answers) == []
    late = [answer for answer in burst.answers if answer.ended > asked]
    print(f"{len(late)} of {IN_FLIGHT} requests were under way at the rollback; all were answered")
    assert len(late) > IN_FLIGHT // 2


class Burst(threading.Thread):
    """Many requests at once, each on a connection of its own, and what came back."""

    def __init__(self, target: Target) -> None:
        super().__init__(name="burst", daemon=True)
        self._target = target
        self.under_way = 0
        self.answers: list[Answer] = []

    def run(self) -> None:
        asyncio.run(self._send_all())

    async def _send_all(self) -> None:
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=80)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            self.answers = await asyncio.gather(*(self._send(session) for _ in range(IN_FLIGHT)))

    async def _send(self, session: aiohttp.ClientSession) -> Answer:
        self.under_way += 1
        return await ask_async(session, self._target, "quiet day on the markets")
