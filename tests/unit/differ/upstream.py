"""A version that a test makes up: HTTP and gRPC on loopback, with answers that the test chooses."""

import asyncio
from contextlib import asynccontextmanager

import grpc
import grpc.aio
from aiohttp import web

from tests.unit.differ.support import grpc_answer, json_answer


class Upstream:
    """What a version says (``say`` and ``say_grpc`` may be replaced), and what it was asked."""

    def __init__(self):
        self.asked = []  # requests of HTTP: (method, path, headers, body)
        self.asked_grpc = []  # (message, metadata)
        self.connections = 0
        self.http_port = self.grpc_port = 0

    @property
    def ports(self):
        return self.http_port, self.grpc_port

    async def say(self, request):
        return web.Response(body=json_answer(), content_type="application/json")

    async def say_grpc(self, message, context):
        return grpc_answer()

    async def handle(self, request):
        self.asked.append((request.method, request.raw_path, dict(request.headers), await request.read()))
        return await self.say(request)

    def service(self, details):
        """Take every method as bytes."""

        async def answer(message, context):
            self.asked_grpc.append((message, dict(details.invocation_metadata)))
            return await self.say_grpc(message, context)

        return grpc.unary_unary_rpc_method_handler(answer)


class _Counting(web.Server):
    upstream = None

    def connection_made(self, handler, transport):
        super().connection_made(handler, transport)
        self.upstream.connections += 1


@asynccontextmanager
async def running_upstream():
    upstream = Upstream()
    server = _Counting(upstream.handle, access_log=None, auto_decompress=False)
    server.upstream = upstream
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    upstream.http_port = site._server.sockets[0].getsockname()[1]
    methods = grpc.aio.server(handlers=[upstream])
    upstream.grpc_port = methods.add_insecure_port("127.0.0.1:0")
    await methods.start()
    try:
        yield upstream
    finally:
        await methods.stop(0)
        await runner.cleanup()


async def eventually(what, probe, within=5.0):
    """Return once ``probe`` says something true; the loop goes on meanwhile."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while not (state := probe()):
        assert loop.time() < end, f"{what}: not within {within} s; last seen: {state}"
        await asyncio.sleep(0.005)
    return state
