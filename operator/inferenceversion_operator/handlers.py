"""kopf registrations. They remember the object and put its endpoint's key on the queue; nothing is decided here."""

import asyncio
import logging
from typing import Any

import kopf

from inferenceversion_operator.api.labels import GROUP
from inferenceversion_operator.config import Config
from inferenceversion_operator.runtime import Runtime

_VERSION = "v1alpha1"


class NoDiffs(kopf.DiffBaseStorage):
    """Nothing is compared with what was handled last.

    No handler here asks what changed, and the copy that kopf makes of each object to find out costs more than all else
    that it does with an event.
    """

    def build(self, **_: Any) -> kopf.BodyEssence:
        return {}

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        pass


def register(registry: kopf.OperatorRegistry, config: Config) -> None:
    """Register the operator's few handlers.

    kopf's own writers stay silent: no finalizers, no progress annotations, no posted events, no peering.
    """
    runtime = Runtime(config)

    # The API server may come up later than this process does.
    @kopf.on.startup(registry=registry, backoff=5.0)
    async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.scanning.disabled = True
        settings.watching.server_timeout = 300
        settings.watching.client_timeout = 400
        settings.watching.reconnect_backoff = 1.0
        settings.persistence.diffbase_storage = NoDiffs()
        settings.queueing.idle_timeout = 1.0  # for so long a worker holds on to the whole object that it had last
        await runtime.start()

    @kopf.on.cleanup(registry=registry)
    async def stop(**_: Any) -> None:
        await runtime.stop()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return await asyncio.to_thread(runtime.login)

    @kopf.on.probe(registry=registry, id="watches", errors=kopf.ErrorsMode.PERMANENT)
    async def watches_are_fresh(**_: Any) -> dict[str, float]:
        return runtime.check_freshness()

    for plural in ("inferenceversions", "inferenceendpoints"):

        @kopf.on.event(GROUP, _VERSION, plural, registry=registry, id=f"see-{plural}")
        async def see(event: kopf.RawEvent, **_: Any) -> None:
            runtime.see(event["type"], event["object"])

    # The kubelet probes every few seconds; what is worth reading must not drown in that.
    for noisy in ("kopf.objects", "kopf.activities.probe", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
