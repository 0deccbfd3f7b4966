"""A thin asyncio client of the API server: aiohttp, JSON in and out, errors with the server's own words.

The official client builds a model object for each answer; at thousands of objects that costs more than the
operator's own work, so this speaks plain JSON and takes only the login from a library (kopf's).
"""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import aiohttp
import kopf

if TYPE_CHECKING:
    import ssl

Body = Mapping[str, Any] | Sequence[Mapping[str, Any]]  # an object, or a JSON patch
_TIMEOUT_S = 30.0
# Service account tokens are rotated by the kubelet well before they expire; reading the file is cheap.
_LOGIN_TTL_S = 60.0
# For requests. Watches have connections of their own: each holds one for as long as it lives, and there is one for each
# kind and namespace that is followed.
_CONNECTIONS = 48
# What YAML 1.1 takes as a line break or not at all when it stands in a string as it is.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class ApiError(Exception):
    """An answer other than 2xx.

    Attributes:
        status: HTTP status.
        reason: the ``reason`` of the server's Status object (``Conflict``, ``NotFound``...).
        retry_after: seconds the server asked to wait, if it did.
        causes: reasons of the Status object's causes, such as ``NamespaceTerminating``.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: float | None = None,
        causes: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes


def login() -> kopf.ConnectionInfo:
    """Return how to reach the API server: KUBECONFIG if it is set, else the pod's service account."""
    settings = kopf.OperatorSettings()
    first, second = kopf.login_with_service_account, kopf.login_with_kubeconfig
    if os.environ.get("KUBECONFIG"):
        first, second = second, first
    info = first(settings=settings) or second(settings=settings)
    if info is None:
        raise SystemExit("no way to reach a cluster: neither KUBECONFIG nor a service account is there")
    return info


class KubeClient:
    """One session to one API server; use it as an async context manager."""

    def __init__(self, info: kopf.ConnectionInfo | None = None) -> None:
        self._fixed = info
        self._info = info or login()
        self._ssl: ssl.SSLContext | bool = (
            self._info.as_ssl_context() if self._info.server.startswith("https") else False
        )
        self._logged_in = time.monotonic()
        self._session: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session, self._streams = self._connected(_CONNECTIONS), self._connected(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in (self._session, self._streams):
            if session:
                await session.close()

    def _connected(self, limit: int) -> aiohttp.ClientSession:
        """Return a session of at most so many connections; 0: no limit."""
        connector = aiohttp.TCPConnector(limit=limit, ssl=self._ssl)
        agent = {"User-Agent": "inferenceversion-operator"}
        return aiohttp.ClientSession(connector=connector, headers=agent, cookie_jar=aiohttp.DummyCookieJar())

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Body | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Send one request and return the decoded answer.

        Raises:
            ApiError: the server refused.
            aiohttp.ClientError, TimeoutError: the server was not reached or stayed silent for 30 s.
        """
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with self._open(
            self._session, method, path, params=params, body=body, content_type=content_type, timeout=timeout
        ) as got:
            answer: dict[str, Any] = json.loads(await got.read())
            return answer

    async def text(self, path: str) -> str:
        """Return an answer that isn't JSON, such as the API server's metrics."""
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with self._open(self._session, "GET", path, timeout=timeout) as got:
            return (await got.read()).decode()

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a watch; it ends with ``TimeoutError`` when nothing at all arrives for ``silence_s`` seconds."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_TIMEOUT_S, sock_read=silence_s)
        async with self._open(self._streams, "GET", path, params=params, timeout=timeout) as got:
            yield got.content

    @asynccontextmanager
    async def _open(
        self,
        session: aiohttp.ClientSession | None,
        method: str,
        path: str,
        *,
        timeout: aiohttp.ClientTimeout,
        params: Mapping[str, str] | None = None,
        body: Body | None = None,
        content_type: str = "application/json",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if session is None:
            raise RuntimeError("KubeClient is used outside of its context")
        data = encode(body) if body is not None else None
        headers = self._headers() | ({"Content-Type": content_type} if data is not None else {})
        url = self._info.server.rstrip("/") + path
        async with session.request(method, url, params=params, data=data, headers=headers, timeout=timeout) as response:
            if response.status >= 300:
                raise await _error(response)
            yield response

    def _headers(self) -> dict[str, str]:
        now = time.monotonic()
        if self._fixed is None and now - self._logged_in > _LOGIN_TTL_S:
            self._info, self._logged_in = login(), now
        return dict(self._info.as_http_headers())


def encode(body: Body) -> bytes:
    """Return JSON that is the same to a reader of YAML, as which the API server reads an apply.

    YAML knows no surrogate pairs, so what is beyond the basic plane (an emoji in a model's error) goes as it is. Half
    of a pair is no character at all and no server would store it.
    """
    text = json.dumps(body, ensure_ascii=False)
    if text.isascii() and "\x7f" not in text:  # nearly always
        return text.encode()
    text = _SURROGATE.sub("\ufffd", text)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


async def _error(response: aiohttp.ClientResponse) -> ApiError:
    text = (await response.read()).decode(errors="replace")
    causes: frozenset[str] = frozenset()
    try:
        status = json.loads(text)
        causes = frozenset(str(c.get("reason")) for c in (status.get("details") or {}).get("causes") or ())
        reason, message = str(status.get("reason") or response.reason), str(status.get("message") or text)
    except (ValueError, AttributeError):
        reason, message = str(response.reason), text[:500]
    after = response.headers.get("Retry-After", "")
    return ApiError(response.status, reason, message, float(after) if after.isdigit() else None, causes)


def is_transport_error(error: BaseException) -> bool:
    """Say whether the server was not reached, as opposed to having refused."""
    return isinstance(error, aiohttp.ClientError | asyncio.TimeoutError | OSError)
