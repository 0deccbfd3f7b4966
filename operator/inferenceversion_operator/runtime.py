"""The running parts of the operator process and how they start and stop."""

import asyncio
import gc
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import kopf

from inferenceversion_operator.adapters.kube.cache import Cache, Key
from inferenceversion_operator.adapters.kube.client import ApiError, KubeClient, is_transport_error, login
from inferenceversion_operator.adapters.kube.resources import (
    CHILDREN,
    ENDPOINT_SLICE,
    INFERENCE_ENDPOINT,
    INFERENCE_VERSION,
    POD,
    ROUTES,
    Resource,
)
from inferenceversion_operator.adapters.kube.watch import Watch, list_into
from inferenceversion_operator.adapters.kube.writer import Writer
from inferenceversion_operator.adapters.prometheus import Prometheus
from inferenceversion_operator.config import Config
from inferenceversion_operator.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)
_SWEEP_S = 300.0
_FIRST_SWEEP_S = 15.0
_STALE_S = 240.0
_SYNC_TIMEOUT_S = 120.0


class Runtime:
    """Client, cache, watches, queue: made at start, ended at stop."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._settings = config.settings
        self._client: KubeClient | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._watches: dict[tuple[Resource, str | None], Watch] = {}
        self._reconciler: Reconciler | None = None
        self._prometheus: Prometheus | None = None
        self._working = False
        self.cache = Cache(self._changed)
        self.login = login

    async def start(self) -> None:
        """Log in, learn what the cluster serves, fill the cache, start to work.

        Raises:
            kopf.PermanentError: the CRDs are not installed.
        """
        try:
            await self._start()
        except BaseException:  # it may be tried again, from the beginning
            await self.stop()
            raise

    async def _start(self) -> None:
        self._client = await KubeClient().__aenter__()
        await self._check_crds()
        self._prometheus = Prometheus(self._config.prometheus) if self._config.prometheus else None
        ask = self._prometheus.ask if self._prometheus else None
        self._reconciler = Reconciler(self.cache, Writer(self._client, self.cache), lambda: self._settings, ask)
        for resource in (*CHILDREN, POD, ENDPOINT_SLICE):
            self._follow(resource)
        await self._discover_routes()
        async with asyncio.timeout(_SYNC_TIMEOUT_S):
            for watch in self._watches.values():
                await watch.synced.wait()
        await self._list_declared()
        _calm_the_collector()
        self._working = True
        self._spawn(self._reconciler.queue.run(), "queue")
        self._spawn(self._sweep(), "sweep")
        log.info("watching %s; routes: %s", ", ".join(self._config.namespaces) or "all namespaces", self._route_kinds())

    async def stop(self) -> None:
        """End every task and the session."""
        self._working = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._watches.clear()
        if self._reconciler:
            await self._reconciler.stop()
        if self._prometheus:
            self._prometheus.close()
        if self._client:
            await self._client.__aexit__()
            self._client = None

    def see(self, kind: str | None, obj: Mapping[str, Any]) -> None:
        """Take an event of a custom resource; ``kind`` is None for what kopf listed."""
        if kind == "DELETED":
            self.cache.remove(obj)
        else:
            self.cache.put(obj)

    def check_freshness(self) -> dict[str, float]:
        """Return the seconds since each watch was last heard of.

        Raises:
            RuntimeError: one is silent for longer than its own restart takes: liveness fails, the pod is restarted.
        """
        now = time.monotonic()
        ages = {watch.name: round(now - watch.heard_at, 1) for watch in self._watches.values()}
        stale = {name: age for name, age in ages.items() if age > _STALE_S}
        if stale:
            raise RuntimeError(f"silent watches: {stale}")
        return ages

    def _changed(self, key: Key, asked: bool) -> None:
        if self._reconciler is None:
            return
        if asked and self._working:  # what is there at the start was asked for before
            self._reconciler.queue.ask(key)
        else:
            self._reconciler.queue.hint(key)

    def _route_kinds(self) -> str:
        return ", ".join(sorted(self._settings.route_kinds)) or "none (no Gateway API)"

    def _namespaces(self) -> tuple[str | None, ...]:
        return self._config.namespaces or (None,)

    def _follow(self, resource: Resource) -> None:
        for namespace in self._namespaces():
            if self._client and (resource, namespace) not in self._watches:
                watch = Watch(self._client, resource, self.cache, namespace)
                self._watches[resource, namespace] = watch
                self._spawn(watch.run(), watch.name)

    def _spawn(self, coroutine: Any, name: str) -> None:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        task.add_done_callback(_died)
        self._tasks.append(task)

    async def _check_crds(self) -> None:
        served = await self._served(INFERENCE_VERSION)
        missing = {INFERENCE_VERSION.kind, INFERENCE_ENDPOINT.kind} - served
        if missing:
            raise kopf.PermanentError(f"the cluster does not serve {', '.join(sorted(missing))}: install crds/ first")

    async def _discover_routes(self) -> None:
        served = await self._served(ROUTES[0])
        kinds = frozenset(route.kind for route in ROUTES if route.kind in served)
        if kinds != self._settings.route_kinds:
            self._settings = replace(self._settings, route_kinds=kinds)
            for route in ROUTES:
                if route.kind in kinds:
                    self._follow(route)
            for key in self.cache.endpoints():
                self._changed(key, asked=False)

    async def _served(self, resource: Resource) -> set[str]:
        if self._client is None:
            return set()
        try:
            answer = await self._client.request("GET", f"/apis/{resource.api_version}")
        except ApiError as error:
            if error.status == 404:
                return set()
            raise
        return {entry["kind"] for entry in answer["resources"]}

    async def _list_declared(self) -> None:
        """Take a list of the custom resources as the truth.

        Endpoints come last: a version that is known before its endpoint would be decided upon without the pin.
        """
        for resource in (INFERENCE_VERSION, INFERENCE_ENDPOINT):
            for namespace in self._namespaces():
                if self._client:
                    await list_into(self.cache, self._client, resource, namespace)

    async def _sweep(self) -> None:
        """Now and then take a list of the custom resources as the truth.

        kopf does not tell of objects that were deleted while its watch was broken; and the Gateway API may be
        installed after the operator.
        """
        wait = _FIRST_SWEEP_S  # what went before kopf began to watch
        while self._client:
            await asyncio.sleep(wait)
            wait = _SWEEP_S
            try:
                await self._discover_routes()
                await self._list_declared()
            except Exception as error:
                if not isinstance(error, ApiError) and not is_transport_error(error):
                    raise
                log.warning("sweep: %s", error)


def _calm_the_collector() -> None:
    """Look for cycles rarely: objects of the API are trees, and looking through thousands of them finds nothing."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _died(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception():
        log.error("%s ended: %r", task.get_name(), task.exception(), exc_info=task.exception())
