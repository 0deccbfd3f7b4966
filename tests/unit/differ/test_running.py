"""The whole differ on loopback: copies in, both versions asked, counts out; and what hostile peers may not do."""

import asyncio
import contextlib
import gzip
import json
import resource
import time

import aiohttp
import grpc
import grpc.aio
import pytest
from aiohttp import web

from inferenceversion_operator.differ import worker
from inferenceversion_operator.differ.listen import http as http_listener
from inferenceversion_operator.differ.listen.grpc import METHOD
from inferenceversion_operator.differ.run import Ports, running
from inferenceversion_operator.differ.tally import Drop
from tests.support.ports import free_ports
from tests.unit.differ.support import INFER, a_plan, grpc_answer, json_answer
from tests.unit.differ.upstream import eventually


class Door:
    """The differ as whoever sends copies sees it."""

    def __init__(self, parts, ports):
        self.parts = parts
        self.tally = parts.tally
        self.ports = ports
        self.session = aiohttp.ClientSession()
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{ports.grpc}")

    async def send(self, body=b"{}", path=INFER, method="POST", **more):
        url = f"http://127.0.0.1:{self.ports.http}{path}"
        async with self.session.request(method, url, data=body, **more) as response:
            return response.status, await response.read()

    async def send_grpc(self, message=b"message", method=METHOD):
        return await self.channel.unary_unary(method)(message)

    async def see(self, path):
        async with self.session.get(f"http://127.0.0.1:{self.ports.probes}{path}") as response:
            return response.status, await response.text()

    def settled(self):
        """Return how many copies were dealt with, if all were."""
        tally = self.tally
        unanswered = sum(count for side, count in tally.failed.items() if side != "candidate")
        dealt = tally.compared + unanswered + sum(tally.dropped.values())
        return dealt if dealt == tally.received and not self.parts.intake.memory.used else 0

    async def all_done(self, count):
        await eventually(f"waiting until {count} copies were dealt with", lambda: self.settled() == count)


@contextlib.asynccontextmanager
async def differ(stable, candidate, **changes):
    ports = Ports("127.0.0.1", *free_ports(3))
    plan = a_plan(stable=stable.ports, candidate=candidate.ports, **changes)
    async with running(plan, ports) as parts:
        door = Door(parts, ports)
        try:
            yield door
        finally:
            await door.session.close()
            await door.channel.close()


def saying(body, **more):
    async def say(request):
        return web.Response(body=body, **more)

    return say


def saying_grpc(message):
    async def say(_message, _context):
        return message

    return say


async def test_a_copy_is_answered_at_once_and_both_versions_are_asked(stable, candidate):
    async with differ(stable, candidate) as door:
        assert await door.send(b'{"inputs":[]}') == (202, b"")
        assert await door.send_grpc() == b""
        await door.all_done(2)
        assert (door.tally.compared, door.tally.mismatched) == (2, 0)
    for upstream in (stable, candidate):
        assert [(path, body) for _, path, _, body in upstream.asked] == [(INFER, b'{"inputs":[]}')]
        assert [message for message, _ in upstream.asked_grpc] == [b"message"]


async def test_a_candidate_that_says_something_else_is_found(stable, candidate):
    candidate.say = saying(json_answer(["negative"]))
    candidate.say_grpc = saying_grpc(grpc_answer(["negative"]))
    async with differ(stable, candidate) as door:
        await door.send()
        await door.send_grpc()
        await door.all_done(2)
        _, metrics = await door.see("/metrics")
        _, differences = await door.see("/differences")
    mismatched = [line for line in metrics.splitlines() if line.startswith("inference_shadow_mismatched_total{")]
    assert [line.split()[-1] for line in mismatched] == ["2.0"]
    found = json.loads(differences)["differences"]
    assert {entry["protocol"] for entry in found} == {"http", "grpc"}
    assert {output["output"] for entry in found for output in entry["outputs"]} == {"LABEL"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", INFER),
        ("POST", "/v2/health/ready"),
        ("POST", "/v2/models/m/generate"),
        ("POST", "/v2/models/m/infer/"),
        ("POST", "/v2/models/a/../../x/infer"),
        ("POST", "/v2/models/%2e%2e/infer"),
        ("POST", "/v2/repository/models/m/load"),
        ("DELETE", "/"),
    ],
)
async def test_what_is_no_inference_is_not_sent_on(stable, candidate, method, path):
    async with differ(stable, candidate) as door:
        from yarl import URL

        url = URL(f"http://127.0.0.1:{door.ports.http}{path}", encoded=True)
        async with door.session.request(method, url, data=b"{}") as response:
            assert response.status == 202
        await door.all_done(1)
        assert door.tally.dropped[Drop.NOT_INFERENCE] == 1
    assert stable.asked == candidate.asked == []


async def test_a_version_in_the_path_and_a_query_are_sent_on(stable, candidate):
    async with differ(stable, candidate) as door:
        await door.send(path="/v2/models/m-1.0/versions/3/infer?a=b")
        await door.all_done(1)
    assert candidate.asked[0][1] == "/v2/models/m-1.0/versions/3/infer?a=b"


@pytest.mark.parametrize("method", ["ModelStreamInfer", "ServerLive", "ModelMetadata"])
async def test_other_methods_are_counted_and_not_known(stable, candidate, method):
    async with differ(stable, candidate) as door:
        with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
            await door.send_grpc(method=f"/inference.GRPCInferenceService/{method}")
        await door.all_done(1)
        assert door.tally.dropped[Drop.NOT_INFERENCE] == 1
    assert stable.asked_grpc == candidate.asked_grpc == []


async def test_only_what_the_body_means_is_sent_on(stable, candidate):
    headers = {
        "authorization": "Bearer secret",
        "cookie": "a=b",
        "x-inference-version": "9.9.9",
        "te": "trailers",
        "content-type": "application/octet-stream",
        "Inference-Header-Content-Length": "2",
        "x-inference-traffic": "live",
        "accept-encoding": "gzip",
    }
    async with differ(stable, candidate) as door:
        await door.send(b"{}1", headers=headers)
        await door.all_done(1)
    got = {name.lower(): value for name, value in candidate.asked[0][2].items()}
    assert not got.keys() & {"authorization", "cookie", "x-inference-version", "te"}
    assert got["inference-header-content-length"] == "2"
    assert (got["x-inference-traffic"], got["accept-encoding"]) == ("shadow", "identity")


async def test_a_packed_request_is_sent_on_packed(stable, candidate):
    packed = gzip.compress(b"{}")
    async with differ(stable, candidate) as door:
        await door.send(packed, headers={"content-encoding": "gzip"})
        await door.all_done(1)
    _, _, headers, body = candidate.asked[0]
    assert (body, headers["Content-Encoding"]) == (packed, "gzip")


async def test_a_slow_candidate_makes_the_queue_drop_and_nobody_wait(stable, candidate):
    release = asyncio.Event()

    async def slow(request):
        await release.wait()
        return web.Response(body=json_answer())

    candidate.say = slow
    async with differ(stable, candidate, concurrency=2, queue=3, timeout_s=0.5) as door:
        waits = []
        for _ in range(30):
            began = time.monotonic()
            assert (await door.send())[0] == 202
            waits.append(time.monotonic() - began)
        assert sorted(waits)[len(waits) // 2] < 0.1
        assert door.tally.dropped[Drop.QUEUE_FULL] >= 20
        await eventually("waiting until the others timed out", lambda: door.settled() == 30)
        assert door.tally.failed["candidate"] == door.tally.compared == door.tally.mismatched
        release.set()


async def test_a_dead_candidate_is_a_mismatch_and_a_dead_stable_is_not(stable, candidate):
    class Dead:
        ports = tuple(free_ports(2))

    async with differ(stable, Dead) as door:
        await door.send()
        await door.send_grpc()
        await door.all_done(2)
        assert (door.tally.compared, door.tally.mismatched, door.tally.failed["candidate"]) == (2, 2, 2)
    async with differ(Dead, candidate) as door:
        await door.send()
        await door.send_grpc()
        await door.all_done(2)
        assert (door.tally.compared, door.tally.mismatched, door.tally.failed["stable"]) == (0, 0, 2)


async def test_stable_that_differs_from_itself_is_noise(stable, candidate):
    async def moody(request):
        return web.Response(body=json_answer(["neutral"] if len(stable.asked) % 2 else ["positive"]))

    stable.say = moody
    async with differ(stable, candidate, self_share=1.0) as door:
        await door.send()
        await eventually("waiting until stable was asked twice", lambda: door.tally.noise_compared)
        assert (door.tally.noise_compared, door.tally.noise_mismatched) == (1, 1)
        assert json.loads((await door.see("/differences"))[1])["noise"]
    assert (len(stable.asked), len(candidate.asked)) == (2, 1)


async def test_stable_that_failed_is_not_asked_again(stable, candidate):
    stable.say = saying(b"", status=500)
    async with differ(stable, candidate, self_share=1.0) as door:
        await door.send()
        await door.all_done(1)
        assert (door.tally.noise_compared, door.tally.failed["stable"]) == (0, 1)
    assert len(stable.asked) == 1


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0, 0), (0.3, 15, 45), (1.0, 100, 100)])
async def test_a_share_is_asked_again_also_of_clients_that_repeat_themselves(stable, candidate, share, low, high):
    async with differ(stable, candidate, self_share=share, queue=200) as door:
        for number in range(100):
            await door.send(str(number % 2).encode())
        await eventually("waiting until all were compared", lambda: not door.parts.intake.memory.used)
        assert low <= len(stable.asked) - 100 <= high
        assert {body for _, _, _, body in stable.asked} == {b"0", b"1"}


async def test_a_body_that_is_too_large_is_dropped_and_its_sender_is_answered(stable, candidate):
    async def pieces():
        for _ in range(20):
            yield bytes(10_000)

    async with differ(stable, candidate) as door:
        assert (await door.send(bytes(70_000)))[0] == 202
        with contextlib.suppress(aiohttp.ClientError):
            assert (await door.send(pieces()))[0] == 202
        with pytest.raises(grpc.aio.AioRpcError, match="larger than max"):
            await door.send_grpc(bytes(70_000))
        await door.all_done(2)
        assert door.tally.dropped[Drop.TOO_LARGE] == 2
    assert stable.asked == []


async def test_bodies_have_a_common_budget(stable, candidate):
    release = asyncio.Event()

    async def slow(*_):
        await release.wait()
        return web.Response()

    stable.say = candidate.say = slow
    async with differ(stable, candidate, memory_bytes=100_000, queue=100) as door:
        for _ in range(10):
            await door.send(bytes(30_000))
        assert door.tally.dropped[Drop.MEMORY] == 7
        release.set()
        await door.all_done(10)


async def test_an_answer_for_which_there_is_no_room_is_nobodys_fault(stable, candidate):
    candidate.say = saying(bytes(60_000))
    async with differ(stable, candidate, memory_bytes=30_000) as door:
        await door.send(bytes(100))
        await door.all_done(1)
        assert door.tally.dropped[Drop.MEMORY] == 1
        assert (door.tally.compared, door.tally.mismatched) == (0, 0)


async def test_a_body_that_does_not_come_is_given_up(stable, candidate, monkeypatch):
    monkeypatch.setattr(http_listener, "_BODY_S", 0.1)
    async with differ(stable, candidate) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.ports.http)
        writer.write(f"POST {INFER} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf".encode())
        assert b"202" in await reader.readline()
        writer.close()
        await door.all_done(1)
        assert door.tally.dropped[Drop.BROKEN] == 1


async def test_a_sender_that_hangs_up_in_the_middle_is_given_up(stable, candidate):
    async with differ(stable, candidate) as door:
        _, writer = await asyncio.open_connection("127.0.0.1", door.ports.http)
        writer.write(f"POST {INFER} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf".encode())
        await writer.drain()
        await eventually("waiting until the copy begins", lambda: door.tally.received)
        writer.transport.abort()
        await door.all_done(1)
        assert door.tally.dropped[Drop.BROKEN] == 1


@pytest.mark.parametrize(
    "head",
    [
        "x: y\r\n" * 1000,
        f"x: {'y' * 100_000}\r\n",
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: -5\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "x\0y: 1\r\n",
    ],
    ids=["many headers", "a long header", "two lengths", "a negative length", "both lengths", "a zero byte"],
)
async def test_a_head_that_is_none_is_refused(stable, candidate, head):
    async with differ(stable, candidate) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.ports.http, limit=1 << 20)
        writer.write(f"POST {INFER} HTTP/1.1\r\nhost: x\r\n{head}\r\n".encode())
        assert b" 400 " in await reader.readline()
        writer.close()
        assert await door.send() == (202, b"")
        await eventually("waiting until the good one is compared", lambda: door.tally.compared)


async def test_connections_beyond_the_limit_are_hung_up_on(stable, candidate, monkeypatch):
    monkeypatch.setattr(http_listener, "_CONNECTIONS", 3)
    async with differ(stable, candidate) as door:
        held = [await asyncio.open_connection("127.0.0.1", door.ports.http) for _ in range(3)]
        with pytest.raises(aiohttp.ClientError):
            await door.send()
        for _, writer in held:
            writer.close()
            await writer.wait_closed()

        async def answered():
            with contextlib.suppress(aiohttp.ClientError):
                return (await door.send())[0] == 202

        for _ in range(100):  # the server hears of it a moment later
            if await answered():
                break
        else:
            raise AssertionError("no connection is taken again")


async def test_a_few_packed_bytes_do_not_become_gigabytes(stable, candidate):
    async with (
        differ(stable, candidate) as door,
        grpc.aio.insecure_channel(f"127.0.0.1:{door.ports.grpc}", compression=grpc.Compression.Gzip) as channel,
    ):
        call = channel.unary_unary(METHOD)
        bomb = bytes(64 << 20)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(grpc.aio.AioRpcError, match="larger than max"):
            await call(bomb)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB
        assert await call(b"message" * 1000) == b""
        await door.all_done(1)
    assert stable.asked_grpc[0][0] == b"message" * 1000


async def test_a_crash_in_one_comparison_does_not_end_the_others(stable, candidate, monkeypatch, caplog):
    real = worker.judge
    broken = iter([True] * 5)

    def judge(*arguments):
        if next(broken, False):
            raise ZeroDivisionError
        return real(*arguments)

    monkeypatch.setattr(worker, "judge", judge)
    async with differ(stable, candidate, concurrency=1) as door:
        for number in range(8):
            await door.send(str(number).encode())
        await door.all_done(8)
        assert (door.tally.dropped[Drop.ERROR], door.tally.compared) == (5, 3)
    assert len([record for record in caplog.records if "a comparison failed" in record.message]) == 3  # 1, 2, 4


async def test_a_large_answer_is_judged_aside(stable, candidate):
    big = json_answer(["x" * 50_000])
    stable.say = candidate.say = saying(big)
    async with differ(stable, candidate) as door:
        await door.send()
        await door.all_done(1)
        assert (door.tally.compared, door.tally.mismatched) == (1, 0)


async def test_what_waits_is_finished_at_the_end(stable, candidate):
    release = asyncio.Event()

    async def slow(request):
        await release.wait()
        return web.Response(body=json_answer())

    stable.say = slow
    async with differ(stable, candidate, concurrency=1) as door:
        for _ in range(3):
            await door.send()
        draining = asyncio.create_task(door.parts.intake.drain())
        await asyncio.sleep(0)
        assert (await door.send())[0] == 202
        assert door.tally.dropped[Drop.STOPPING] == 1
        release.set()
        await draining
        assert door.tally.compared == 3


async def test_probes_say_that_it_is_well(stable, candidate):
    async with differ(stable, candidate) as door:
        assert await door.see("/healthz") == (200, "ok\n")
        status, text = await door.see("/metrics")
        assert status == 200
        assert "# TYPE inference_shadow_compared_total counter" in text
        assert (await door.see("/"))[0] == 404
