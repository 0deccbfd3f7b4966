"""List and watch one resource into the cache, for ever; server-side selectors, bookmarks, silence detected.

kopf watches the two custom resources. It has no server-side label selectors and says nothing of objects that were
deleted while a watch was broken, so children (pods above all) are followed here.
"""

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.client import ApiError, KubeClient, is_transport_error
from inferenceversion_operator.adapters.kube.resources import Resource

log = logging.getLogger(__name__)
# The server sends a bookmark about once a minute: longer silence is a dead connection, whatever TCP says.
_SILENCE_S = 100.0
_SERVER_TIMEOUT_S = 300
_PAGE = 100  # of objects with tens of KiB each: a page is in memory as text and as objects at once
_BACKOFF_S = (0.5, 15.0)


class Gone(Exception):
    """The resource version is too old: list again."""


class Watch:
    """Follows one resource in one namespace or in all.

    Attributes:
        synced: set once the first list is in the cache.
        heard_at: monotonic time of the last sign of life; liveness looks at it.
    """

    def __init__(self, client: KubeClient, resource: Resource, cache: Cache, namespace: str | None = None) -> None:
        self._client = client
        self._resource = resource
        self._cache = cache
        self._namespace = namespace
        self._version: str | None = None
        self.synced = asyncio.Event()
        self.heard_at = time.monotonic()

    @property
    def name(self) -> str:
        """What is watched, for messages."""
        return f"{self._resource.plural} in {self._namespace or 'all namespaces'}"

    async def run(self) -> None:
        """List, then watch; start again after every end. Ends only by cancellation."""
        failures = 0
        while True:
            try:
                if self._version is None:
                    await self._list()
                await self._follow()
                failures = 0
            except Gone:
                self._version = None
            except (ApiError, ValueError) as error:
                failures += 1
                self._version = None
                log.warning("watch of %s: %s", self.name, error)
                await asyncio.sleep(_backoff(failures))
            except Exception as error:
                if not is_transport_error(error):
                    raise
                failures += 1
                log.warning("watch of %s: %s: %s", self.name, type(error).__name__, error)
                await asyncio.sleep(_backoff(failures))

    async def _list(self) -> None:
        self._version = await list_into(self._cache, self._client, self._resource, self._namespace)
        self.heard_at = time.monotonic()
        self.synced.set()

    async def _follow(self) -> None:
        params = _selector(self._resource) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version or "",
            "timeoutSeconds": str(_SERVER_TIMEOUT_S + random.randrange(60)),
        }
        path = self._resource.path(self._namespace)
        async with self._client.stream(path, params, _SILENCE_S) as stream:
            buffer = b""
            async for chunk in stream.iter_any():
                self.heard_at = time.monotonic()
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    if line:
                        self._take(json.loads(line))

    def _take(self, event: Mapping[str, Any]) -> None:
        obj = event["object"]
        if event["type"] == "ERROR":
            if obj.get("code") == 410:
                raise Gone
            raise ApiError(int(obj.get("code", 500)), str(obj.get("reason")), str(obj.get("message")))
        self._version = obj["metadata"]["resourceVersion"]
        if event["type"] == "DELETED":
            self._cache.remove(obj)
        elif event["type"] != "BOOKMARK":
            self._cache.put(obj)


async def list_into(cache: Cache, client: KubeClient, resource: Resource, namespace: str | None = None) -> str:
    """Take a fresh list as the truth about a resource, page by page; return the list's resource version."""
    names: set[tuple[str, str]] = set()
    version = "0"
    async for page, version in _pages(client, resource, namespace):  # noqa: B007 - the last one is returned
        for obj in page:
            cache.put(obj)
            names.add((obj["metadata"]["namespace"], obj["metadata"]["name"]))
        await asyncio.sleep(0)  # a page is work enough at once
    cache.keep(resource.kind, names, version, namespace)
    return version


async def list_all(client: KubeClient, resource: Resource, namespace: str | None = None) -> list[dict[str, Any]]:
    """Return all objects of a resource."""
    return [obj async for page, _ in _pages(client, resource, namespace) for obj in page]


async def _pages(
    client: KubeClient, resource: Resource, namespace: str | None
) -> AsyncIterator[tuple[list[dict[str, Any]], str]]:
    """Yield pages of a list, which are of one moment, and the list's resource version."""
    params = _selector(resource) | {"limit": str(_PAGE)}
    while True:
        page = await client.request("GET", resource.path(namespace), params=params)
        # Items of a list carry neither kind nor apiVersion.
        objects = [{**item, "kind": resource.kind, "apiVersion": resource.api_version} for item in page["items"]]
        yield objects, page["metadata"]["resourceVersion"]
        more = page["metadata"].get("continue")
        if not more:
            return
        params = params | {"continue": more}


def _selector(resource: Resource) -> dict[str, str]:
    return {"labelSelector": resource.selector} if resource.selector else {}


def _backoff(failures: int) -> float:
    first, most = _BACKOFF_S
    return random.uniform(0.5, 1.0) * min(most, first * 2.0 ** min(failures - 1, 30))
