"""Asks a version over HTTP/1.1."""

import time

import aiohttp
from yarl import URL

from inferenceversion_operator.differ.judge import Answer, Mirrored
from inferenceversion_operator.differ.labels import clean
from inferenceversion_operator.differ.memory import Lease
from inferenceversion_operator.differ.plan import Limits, Side
from inferenceversion_operator.differ.replay import HEADER_TRAFFIC, TRAFFIC_SHADOW
from inferenceversion_operator.differ.replay.rotating import MAX_AGE_S, Rotating
from inferenceversion_operator.differ.wire.http_v2 import HEADER_LENGTH

_CONNECT_S = 5.0
_PROBLEM = 200  # characters of an error's text


class _RefusedError(Exception):
    """The answer is no success; its message says why."""


class HttpReplayer:
    """Keeps connections to one version's Service, none longer than ``max_age`` seconds after its last request."""

    def __init__(self, side: Side, limits: Limits, *, max_age: float = MAX_AGE_S) -> None:
        self._base = f"http://{side.host}:{side.http_port}"
        self._limits = limits
        self._sessions = Rotating(self._session, aiohttp.ClientSession.close, max_age=max_age)

    async def ask(self, request: Mirrored, lease: Lease) -> Answer:
        began = time.perf_counter()
        try:
            answer = await self._ask(request, lease)
        except TimeoutError:
            answer = Answer(problem=f"no answer within {self._limits.timeout_s:g} s")
        except _RefusedError as refused:
            answer = Answer(problem=str(refused))
        except (aiohttp.ClientError, ValueError) as error:
            answer = Answer(problem=f"no answer: {type(error).__name__}")
        return Answer(answer.body, answer.header_length, answer.problem, time.perf_counter() - began)

    async def close(self) -> None:
        await self._sessions.close()

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._limits.concurrency * 2, ttl_dns_cache=5),
            timeout=aiohttp.ClientTimeout(total=self._limits.timeout_s, connect=_CONNECT_S),
            headers={HEADER_TRAFFIC: TRAFFIC_SHADOW, "accept-encoding": "identity", "user-agent": "inference-differ"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    async def _ask(self, request: Mirrored, lease: Lease) -> Answer:
        url = URL(self._base + request.path, encoded=True)
        try:
            return await self._once(url, request, lease)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # The other end closed a connection that we kept, just when we used it: that says nothing about the version.
            return await self._once(url, request, lease)

    async def _once(self, url: URL, request: Mirrored, lease: Lease) -> Answer:
        with self._sessions.client() as session:
            sending = session.post(url, data=request.body, headers=request.headers, allow_redirects=False)
            async with sending as response:
                body = await self._read(response, lease)
                status = response.status
                if not 200 <= status < 300:
                    raise _RefusedError(f"HTTP {status}: {clean(body, _PROBLEM)}")
                length = response.headers.get(HEADER_LENGTH, "")
                return Answer(body, int(length) if length.isdecimal() and len(length) < 12 else None)

    async def _read(self, response: aiohttp.ClientResponse, lease: Lease) -> bytes:
        most, length = self._limits.response_bytes, response.content_length
        if response.headers.get("content-encoding", "identity") != "identity":
            response.close()
            raise _RefusedError("the answer has an encoding that was not asked for")
        if length is not None and length <= most:
            lease.take(length)
            return await response.read()
        chunks: list[bytes] = []
        left = most if length is None else -1
        async for chunk in response.content.iter_any():
            left -= len(chunk)
            if left < 0:
                break
            lease.take(len(chunk))
            chunks.append(chunk)
        if left < 0:
            response.close()
            raise _RefusedError(f"the answer has more than {most} bytes")
        return b"".join(chunks)
