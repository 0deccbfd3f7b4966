"""Requests as fast as they are answered: so many connections, each sends the next when the one before was answered."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping

import aiohttp

from tests.support.load import HEADER_VERSION, Answer, Target, infer_body

_BODY = json.dumps(infer_body("Lovely festival brings joy and hope to children")).encode()
_TIMEOUT = aiohttp.ClientTimeout(total=15)
HeadersOf = Callable[[int], Mapping[str, str]]


def burst(
    target: Target,
    *,
    count: int | None = None,
    seconds: float | None = None,
    connections: int = 16,
    headers_of: HeadersOf = lambda _: {},
) -> list[Answer]:
    """Send so many requests, or for so long, and return what came back.

    Args:
        headers_of: what the request of this number carries besides the target's own headers.
    """
    return asyncio.run(_burst(target, itertools.islice(itertools.count(), count), seconds, connections, headers_of))


async def _burst(
    target: Target, numbers: Iterator[int], seconds: float | None, connections: int, headers_of: HeadersOf
) -> list[Answer]:
    answers: list[Answer] = []
    until = time.monotonic() + (seconds or float("inf"))
    fixed = {**target.http_headers(), "Content-Type": "application/json"}

    async def one_after_another(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            if time.monotonic() > until:
                return
            answers.append(await _ask(session, target.url, {**fixed, **headers_of(number)}))

    async with aiohttp.ClientSession(timeout=_TIMEOUT, connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(one_after_another(session) for _ in range(connections)))
    return answers


async def _ask(session: aiohttp.ClientSession, url: str, headers: Mapping[str, str]) -> Answer:
    at = time.monotonic()
    try:
        async with session.post(url, data=_BODY, headers=headers) as response:
            body = await response.read()
            problem = "" if response.status == 200 else body[:300].decode(errors="replace")
            version = response.headers.get(HEADER_VERSION, "")
            return Answer(at, time.monotonic() - at, response.status, version=version, problem=problem)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return Answer(at, time.monotonic() - at, -1, problem=repr(error))


def rate(answers: list[Answer]) -> float:
    """Return how many answers there were a second."""
    return len(answers) / (max(a.ended for a in answers) - min(a.at for a in answers)) if answers else 0.0
