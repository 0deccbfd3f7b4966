"""How a version is asked again: what it gets, what its answer may cost, what counts as none."""

import asyncio
import contextlib
import gzip
import time

import grpc
import pytest
from aiohttp import web

from inferenceversion_operator.differ.judge import Protocol
from inferenceversion_operator.differ.listen.grpc import METHOD
from inferenceversion_operator.differ.memory import Lease, Memory, MemoryFullError
from inferenceversion_operator.differ.replay.grpc import GrpcReplayer
from inferenceversion_operator.differ.replay.http import HttpReplayer
from inferenceversion_operator.differ.replay.rotating import Rotating
from tests.support.ports import free_ports
from tests.unit.differ.support import INFER, a_copy, a_plan, grpc_answer, json_answer
from tests.unit.differ.upstream import eventually

GRPC_COPY = a_copy(b"message", Protocol.GRPC, path=METHOD)


async def ask(upstream, copy=None, memory=1 << 20, **limits):
    """Ask once, over the protocol of the copy."""
    copy = copy or a_copy()
    plan = a_plan(stable=upstream.ports, **limits)
    kind = HttpReplayer if copy.protocol is Protocol.HTTP else GrpcReplayer
    replayer = kind(plan.stable, plan.limits)
    try:
        with Lease(Memory(memory)) as lease:
            return await replayer.ask(copy, lease)
    finally:
        await replayer.close()


async def test_a_request_is_sent_as_it_came_and_says_that_it_is_shadow(stable):
    headers = {"content-type": "application/octet-stream", "inference-header-content-length": "2"}
    answer = await ask(stable, a_copy(b"{}\x00\x01", path=f"{INFER}?a=%2F", headers=headers))
    assert (answer.problem, answer.body) == (None, json_answer())
    assert answer.seconds > 0
    method, path, got, body = stable.asked[0]
    assert (method, path, body) == ("POST", f"{INFER}?a=%2F", b"{}\x00\x01")
    lower = {name.lower(): value for name, value in got.items()}
    assert headers.items() <= lower.items()
    assert lower["x-inference-traffic"] == "shadow"
    assert lower["accept-encoding"] == "identity"
    assert lower.keys() - headers.keys() == {
        *("host", "user-agent", "accept", "accept-encoding", "content-length", "x-inference-traffic"),
    }


async def test_a_message_is_sent_as_it_came_and_says_that_it_is_shadow(stable):
    answer = await ask(stable, GRPC_COPY)
    assert (answer.problem, answer.body) == (None, grpc_answer())
    message, metadata = stable.asked_grpc[0]
    assert message == b"message"
    assert metadata["x-inference-traffic"] == "shadow"


async def test_the_length_of_the_json_is_read_from_the_answer(stable):
    async def say(request):
        return web.Response(body=b"{}1234", headers={"Inference-Header-Content-Length": "2"})

    stable.say = say
    assert (await ask(stable)).header_length == 2


@pytest.mark.parametrize("status", [301, 302, 400, 404, 413, 429, 500, 503])
async def test_every_other_status_is_a_failure_that_says_why(stable, status):
    async def say(request):
        return web.Response(status=status, text="because\x1b[2J", headers={"location": "http://127.0.0.1:1/"})

    stable.say = say
    assert (await ask(stable)).problem == f"HTTP {status}: because?[2J"
    assert len(stable.asked) == 1


@pytest.mark.parametrize("code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAVAILABLE])
async def test_every_status_of_grpc_is_a_failure_that_says_why(stable, code):
    async def say(message, context):
        await context.abort(code, "because\x1b")

    stable.say_grpc = say
    answer = await ask(stable, GRPC_COPY)
    assert answer.problem == f"gRPC {code.name}: because?"


@pytest.mark.parametrize("copy", [a_copy(), GRPC_COPY], ids=["http", "grpc"])
async def test_a_slow_answer_is_none(stable, copy):
    release = asyncio.Event()

    async def slow(*_):
        await release.wait()
        return web.Response()

    stable.say = stable.say_grpc = slow
    began = time.monotonic()
    answer = await ask(stable, copy, timeout_s=0.2)
    release.set()
    assert time.monotonic() - began < 2
    assert ("no answer within 0.2 s" in answer.problem) or ("DEADLINE_EXCEEDED" in answer.problem)
    assert answer.seconds >= 0.19


@pytest.mark.parametrize("protocol", Protocol)
async def test_nobody_there_is_a_failure(protocol):
    class Nobody:
        ports = tuple(free_ports(2))

    copy = a_copy() if protocol is Protocol.HTTP else GRPC_COPY
    assert (await ask(Nobody, copy)).problem


@pytest.mark.parametrize("chunked", [True, False])
async def test_an_answer_that_is_too_large_is_none(stable, chunked):
    async def say(request):
        if not chunked:
            return web.Response(body=bytes(100_000))
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            for _ in range(10_000):
                await response.write(bytes(10_000))
        return response

    stable.say = say
    assert (await ask(stable)).problem == "the answer has more than 65536 bytes"


async def test_a_message_that_is_too_large_is_none(stable):
    async def say(message, context):
        return bytes(100_000)

    stable.say_grpc = say
    assert "RESOURCE_EXHAUSTED" in (await ask(stable, GRPC_COPY)).problem


async def test_a_chunked_answer_is_whole(stable):
    async def say(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(3):
            await response.write(b"abc")
        return response

    stable.say = say
    assert (await ask(stable)).body == b"abcabcabc"


async def test_an_answer_that_is_packed_is_not_unpacked(stable):
    async def say(request):
        return web.Response(body=gzip.compress(bytes(1 << 20)), headers={"content-encoding": "gzip"})

    stable.say = say
    assert (await ask(stable)).problem == "the answer has an encoding that was not asked for"


@pytest.mark.parametrize("copy", [a_copy(), GRPC_COPY], ids=["http", "grpc"])
async def test_where_there_is_no_memory_nobody_is_blamed(stable, copy):
    with pytest.raises(MemoryFullError):
        await ask(stable, copy, memory=10)


async def test_a_lease_gives_back_what_it_took():
    memory = Memory(10)
    with Lease(memory) as lease:
        lease.take(6)
        with pytest.raises(MemoryFullError):
            lease.take(5)
        assert memory.used == 6
    assert memory.used == 0


async def test_an_answer_that_breaks_off_is_none(stable):
    async def say(request):
        response = web.StreamResponse(headers={"content-length": "100"})
        await response.prepare(request)
        await response.write(b"abc")
        request.transport.abort()
        return response

    stable.say = say
    assert (await ask(stable)).problem.startswith("no answer: Client")


async def test_a_connection_that_was_closed_under_us_is_tried_once_more(stable):
    async def close_first(request):
        if len(stable.asked) == 1:
            request.transport.abort()
        return web.Response(body=b"second")

    stable.say = close_first
    assert (await ask(stable)).body == b"second"

    async def close(request):
        request.transport.abort()
        return web.Response()

    stable.asked.clear()
    stable.say = close
    assert (await ask(stable)).problem == "no answer: ServerDisconnectedError"
    assert len(stable.asked) == 2


async def test_no_cookie_is_kept(stable):
    async def say(request):
        return web.Response(body=b"{}", headers={"set-cookie": "a=b"})

    stable.say = say
    plan = a_plan(stable=stable.ports)
    replayer = HttpReplayer(plan.stable, plan.limits)
    for _ in range(2):
        with Lease(Memory(1 << 20)) as lease:
            await replayer.ask(a_copy(), lease)
    await replayer.close()
    assert "Cookie" not in stable.asked[1][2]


@pytest.mark.parametrize("age", [0.05, 60])
async def test_connections_are_kept_for_a_while_and_no_longer(stable, age):
    plan = a_plan(stable=stable.ports)
    replayer = HttpReplayer(plan.stable, plan.limits, max_age=age)
    for _ in range(4):
        with Lease(Memory(1 << 20)) as lease:
            assert not (await replayer.ask(a_copy(), lease)).problem
        await asyncio.sleep(0.06)
    await replayer.close()
    assert stable.connections == (4 if age < 1 else 1)


class Thing:
    def __init__(self):
        self.closed = False

    async def close(self):
        self.closed = True


async def test_a_client_that_is_too_old_is_closed_when_its_last_user_is_done():
    made = []

    def make():
        made.append(Thing())
        return made[-1]

    rotating = Rotating(make, Thing.close, max_age=0.02)
    with rotating.client() as first:
        await asyncio.sleep(0.03)
        with rotating.client() as second:
            assert second is not first
        await asyncio.sleep(0)
        assert not first.closed
    await eventually("waiting until the old one is closed", lambda: first.closed)
    assert not second.closed
    await rotating.close()
    assert second.closed


async def test_places_are_taken_in_turn_and_age_apart():
    rotating = Rotating(Thing, Thing.close, places=2, max_age=0.1)

    def two():
        found = []
        for _ in range(2):
            with rotating.client() as thing:
                found.append(thing)
        return found

    before = two()
    assert before[0] is not before[1]
    assert two() == before
    await asyncio.sleep(0.07)  # half the age and more: the second was born old
    after = two()
    assert after[0] is before[0]
    assert after[1] is not before[1]
    await rotating.close()


async def test_channels_of_grpc_are_connections_of_their_own(stable):
    plan = a_plan(stable=stable.ports)
    replayer = GrpcReplayer(plan.stable, plan.limits)
    peers = set()

    async def say(message, context):
        peers.add(context.peer())
        return grpc_answer()

    stable.say_grpc = say
    for _ in range(8):
        with Lease(Memory(1 << 20)) as lease:
            assert not (await replayer.ask(GRPC_COPY, lease)).problem
    await replayer.close()
    assert len(peers) == 4
