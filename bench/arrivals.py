"""When each object came to be, as watches of the benchmark's own see it."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterable

from inferenceversion_operator.adapters.kube.client import KubeClient
from inferenceversion_operator.adapters.kube.resources import BY_KIND, Resource

Ident = tuple[str, str, str]  # kind, namespace, name
_NAME = re.compile(rb'"metadata":\{"name":"([^"]+)"')
_FOR_EVER_S = 24 * 3600


class Arrivals:
    """The time (``time.perf_counter``) at which each object was first seen."""

    def __init__(self) -> None:
        self._seen: dict[Ident, float] = {}
        self._awaited: dict[Ident, asyncio.Future[float]] = {}

    async def of(self, idents: Iterable[Ident]) -> float:
        """Wait until all of these are there; return when the last one was."""
        loop = asyncio.get_running_loop()
        times = []
        for ident in idents:
            if ident not in self._seen:
                await self._awaited.setdefault(ident, loop.create_future())
            times.append(self._seen[ident])
        return max(times)

    async def follow(self, client: KubeClient, resource: Resource, namespace: str) -> None:
        """Record every object of a resource in a namespace."""
        params = {"watch": "true", "timeoutSeconds": str(_FOR_EVER_S)}
        async with client.stream(resource.path(namespace), params, _FOR_EVER_S) as stream:
            buffer = b""
            async for chunk in stream.iter_any():
                now = time.perf_counter()
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    found = _NAME.search(line)
                    if found:
                        self._note((resource.kind, namespace, found[1].decode()), now)

    def _note(self, ident: Ident, now: float) -> None:
        if ident not in self._seen:
            self._seen[ident] = now
            awaited = self._awaited.pop(ident, None)
            if awaited and not awaited.done():
                awaited.set_result(now)


@contextlib.asynccontextmanager
async def watching(client: KubeClient, kinds: Iterable[str], *namespaces: str) -> AsyncIterator[Arrivals]:
    """Watch some kinds in some namespaces for the length of a block."""
    arrivals = Arrivals()
    pairs = [(BY_KIND[kind], namespace) for kind in kinds for namespace in namespaces]
    tasks = [asyncio.create_task(arrivals.follow(client, resource, namespace)) for resource, namespace in pairs]
    try:
        yield arrivals
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
