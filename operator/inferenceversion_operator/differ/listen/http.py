"""Copies over HTTP."""

import asyncio
import hashlib
import re

from aiohttp import web

from inferenceversion_operator.differ.intake import Intake
from inferenceversion_operator.differ.judge import Mirrored, Protocol
from inferenceversion_operator.differ.tally import Drop
from inferenceversion_operator.differ.wire.http_v2 import HEADER_LENGTH

_NAME = r"[A-Za-z0-9_.-]+"
_INFER = re.compile(rf"/v2/models/{_NAME}(/versions/[0-9]+)?/infer(\?[!-~]*)?")
# What the meaning of a body depends on. Nothing else is sent on: no cookie, no authorization, no wish for a version.
_HEADERS = ("content-type", "content-encoding", HEADER_LENGTH)
_VALUE = re.compile(r"[ -~]{1,256}")
_CONNECTIONS = 2048
_KEEP_ALIVE_S = 75.0
_BODY_S = 30.0  # a body arrives in this time
_LINGER_S = 1.0  # a body that is not wanted is read for so long, so that its sender is not cut off


class HttpListener:
    """Takes copies on a port; see ``start``."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int) -> None:
        server = _BoundedServer(
            self._handle,
            auto_decompress=False,  # a body is compared as it was sent
            access_log=None,
            keepalive_timeout=_KEEP_ALIVE_S,
            lingering_time=_LINGER_S,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, backlog=1024).start()

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._intake.tally.received += 1
        dropped = await self._take(request)
        if dropped:
            self._intake.tally.drop(dropped)
        return web.Response(status=202)

    async def _take(self, request: web.BaseRequest) -> Drop | None:
        """Queue the copy, or say why not."""
        path = request.raw_path
        if request.method != "POST" or not _INFER.fullmatch(path):
            return Drop.NOT_INFERENCE
        refused = self._intake.refusal()
        if refused:
            return refused
        body = await self._body(request)
        if isinstance(body, Drop):
            return body
        headers = {name: value for name in _HEADERS if _VALUE.fullmatch(value := request.headers.get(name, ""))}
        length = headers.get(HEADER_LENGTH, "")
        header_length = int(length) if length.isdecimal() and len(length) < 12 else None
        digest = hashlib.sha256(body).hexdigest()
        self._intake.put(Mirrored(Protocol.HTTP, path, headers, body, header_length, digest))
        return None

    async def _body(self, request: web.BaseRequest) -> bytes | Drop:
        """Return the body, its bytes taken from the memory; or why it is not wanted."""
        memory, most = self._intake.memory, self._intake.limits.request_bytes
        if (request.content_length or 0) > most:
            return Drop.TOO_LARGE
        chunks: list[bytes] = []
        taken = 0
        why: Drop | None = None
        try:
            async with asyncio.timeout(_BODY_S):
                async for chunk in request.content.iter_any():
                    if taken + len(chunk) > most:
                        why = Drop.TOO_LARGE
                    elif not memory.take(len(chunk)):
                        why = Drop.MEMORY
                    if why:
                        break
                    taken += len(chunk)
                    chunks.append(chunk)
        except (TimeoutError, OSError, web.RequestPayloadError):
            why = Drop.BROKEN
        except asyncio.CancelledError:
            memory.give(taken)
            raise
        if why:
            memory.give(taken)
            return why
        return b"".join(chunks)


class _BoundedServer(web.Server):
    """A server that hangs up where there are too many connections."""

    _open = 0

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._open += 1
        if self._open > _CONNECTIONS:
            transport.abort()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._open -= 1
