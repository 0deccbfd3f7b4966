"""The port of kubelet, Prometheus and people."""

from aiohttp import web

from inferenceversion_operator.differ.metrics import Exposition
from inferenceversion_operator.differ.sample import Sample


class Probes:
    """``/healthz``, ``/metrics`` and ``/differences``."""

    def __init__(self, exposition: Exposition, sample: Sample) -> None:
        self._exposition = exposition
        self._sample = sample
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> None:
        application = web.Application()
        application.router.add_get("/healthz", self._health)
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/differences", self._differences)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._exposition.text(), headers={"content-type": Exposition.content_type})

    async def _differences(self, _: web.Request) -> web.Response:
        return web.json_response(self._sample.document())
