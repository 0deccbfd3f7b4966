"""Puts the parts together, starts them, and stops them in the order in which nothing is lost that need not be."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from inferenceversion_operator.differ.intake import Intake
from inferenceversion_operator.differ.judge import Protocol
from inferenceversion_operator.differ.listen.grpc import GrpcListener
from inferenceversion_operator.differ.listen.http import HttpListener
from inferenceversion_operator.differ.metrics import Exposition
from inferenceversion_operator.differ.plan import Plan
from inferenceversion_operator.differ.probes import Probes
from inferenceversion_operator.differ.replay.grpc import GrpcReplayer
from inferenceversion_operator.differ.replay.http import HttpReplayer
from inferenceversion_operator.differ.sample import Sample
from inferenceversion_operator.differ.tally import Tally
from inferenceversion_operator.differ.worker import Pair, Worker

log = logging.getLogger(__name__)
DRAIN_S = 10.0  # that copies in the queue may still take at the end


@dataclass(frozen=True, slots=True)
class Ports:
    host: str = "0.0.0.0"  # noqa: S104 - the pod's own network
    http: int = 8080
    grpc: int = 8081
    probes: int = 9902


@dataclass(frozen=True, slots=True)
class Running:
    """The parts of a differ that listens."""

    intake: Intake
    tally: Tally
    sample: Sample


async def run(plan: Plan, ports: Ports) -> None:
    """Work until SIGTERM or SIGINT, then finish what waits, for at most ``DRAIN_S`` seconds."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(plan, ports) as parts:
        log.info("comparing %s with %s of %s", plan.candidate.version, plan.stable.version, plan.endpoint)
        await stop.wait()
        log.info("stopping")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(parts.intake.drain(), DRAIN_S)
    log.info("compared %d, mismatched %d", parts.tally.compared, parts.tally.mismatched)


@contextlib.asynccontextmanager
async def running(plan: Plan, ports: Ports) -> AsyncIterator[Running]:
    """Start everything; at the end of the block it is stopped, the listeners first."""
    tally, sample = Tally(plan), Sample(plan)
    intake = Intake(plan.limits, tally)
    pairs = {
        Protocol.HTTP: Pair(HttpReplayer(plan.stable, plan.limits), HttpReplayer(plan.candidate, plan.limits)),
        Protocol.GRPC: Pair(GrpcReplayer(plan.stable, plan.limits), GrpcReplayer(plan.candidate, plan.limits)),
    }
    probes = Probes(Exposition(plan, tally), sample)
    http, grpc = HttpListener(intake), GrpcListener(intake)
    async with contextlib.AsyncExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(1, "judge"))
        for pair in pairs.values():
            stack.push_async_callback(pair.stable.close)
            stack.push_async_callback(pair.candidate.close)
        worker = Worker(plan, intake, pairs, tally, sample, executor)
        tasks = [asyncio.create_task(worker.run()) for _ in range(plan.limits.concurrency)]
        stack.push_async_callback(_end, tasks)
        for part, port in ((probes, ports.probes), (http, ports.http), (grpc, ports.grpc)):
            stack.push_async_callback(part.stop)
            await part.start(ports.host, port)
        yield Running(intake, tally, sample)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
