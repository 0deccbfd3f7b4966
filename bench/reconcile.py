"""Versions become objects: beside a bare client that writes the same objects, in turns, on the same API server."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import kopf

from bench import meters, objects
from bench.arrivals import Arrivals, Ident, watching
from dev import gotools
from dev.paths import ROOT, paths
from inferenceversion_operator.adapters.kube.client import KubeClient
from inferenceversion_operator.adapters.kube.resources import BY_KIND, INFERENCE_ENDPOINT, INFERENCE_VERSION
from tests.support.control_plane import ControlPlane, control_plane
from tests.support.kubectl import Kubectl
from tests.support.operator_process import OperatorProcess, running_operator

Say = Callable[[str], None]
Numbers = dict[str, Any]
_AT_ONCE = 16
_ROUNDS = 4
_NODES = 50
# As large clusters set it: with the default of 20 a second, the pods of 1,000 Deployments trickle in for minutes.
_CONTROLLER_QPS = 500
_KINDS = ("ConfigMap", "Deployment", "Service", "PodDisruptionBudget")
_BARE, _OURS, _PROBE = "bare", "ours", "probe"
_IDLE_S = 15.0
_LOOK_S = 2.0
_NEXT_TO_NOTHING = 0.03  # of a core
_SINGLES = 20
_BETWEEN_S = 0.5


@dataclass(slots=True)
class Bench:
    """What the parts of one run share."""

    plane: ControlPlane
    client: KubeClient
    operator: OperatorProcess
    arrivals: Arrivals
    say: Say


class Job(NamedTuple):
    """What makes one version, and what is there in the end."""

    requests: list[dict[str, Any]]
    children: list[Ident]


async def run(folder: Path, sizes: list[int], say: Say) -> list[Numbers]:
    """Measure each size on a control plane of its own."""
    results = []
    for size in sizes:
        place = folder / str(size)
        place.mkdir()
        async with started(place, say) as bench:
            results.append(await _measure(bench, size))
    return results


@contextlib.asynccontextmanager
async def started(folder: Path, say: Say) -> AsyncIterator[Bench]:
    """Run a control plane with fake nodes and the operator for the length of a block."""
    with control_plane(folder, fake_nodes=_NODES, controller_qps=_CONTROLLER_QPS) as plane:
        kubectl = Kubectl(gotools.binary(paths(), "kubernetes", "kubectl"), plane.kubeconfig)
        kubectl.run("apply", "-f", str(ROOT / "crds"))
        kubectl.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        for namespace in (_BARE, _OURS, _PROBE):
            kubectl.run("create", "namespace", namespace)
        settings = {"IVO_LOG_LEVEL": "warning", "IVO_WATCH_NAMESPACES": f"{_OURS},{_PROBE}"}
        info = kopf.ConnectionInfo(server=plane.url, token=plane.token, insecure=True)
        with running_operator(plane.kubeconfig, folder / "operator.log", **settings) as operator:
            async with (
                KubeClient(info) as client,
                watching(client, _KINDS, _BARE, _OURS, _PROBE) as arrivals,
            ):
                yield Bench(plane, client, operator, arrivals, say)


async def _measure(bench: Bench, size: int) -> Numbers:
    rounds = _ROUNDS if size >= 100 else 1
    bare, ours = [], []
    for number in range(rounds):
        bench.say(f"{size} versions, round {number + 1} of {rounds}")
        chunk = range(size * number // rounds, size * (number + 1) // rounds)
        bare.append(await make(bench, [bare_job(n) for n in chunk]))
        ours.append(await make(bench, [our_job(n) for n in chunk], probes=f"busy{number}"))
        bench.say(f"  {ours[-1]['rate']:.1f}/s, {ours[-1]['rate'] / bare[-1]['rate']:.2f} of the bare client")
    numbers = _compare(size, bare, ours)
    numbers["busy_probe"] = _quantiles([took for one in ours for took in one["probes"]])
    bench.say("  single versions")
    numbers["single"] = _quantiles([await _single(bench, f"single{n}") for n in range(_SINGLES)])
    await meters.quiet(bench.client)
    await _settled(bench)
    numbers["rss_mib"] = bench.operator.rss_mib()
    bench.say("  resync, restart, idle")
    return numbers | await _resync(bench, size) | await _restart(bench) | await _idle(bench)


def _compare(size: int, bare: list[Numbers], ours: list[Numbers]) -> Numbers:
    floor, mine = _sum(bare), _sum(ours)
    return {
        "versions": size,
        "bare": floor,
        "operator": mine,
        "ratio": mine["rate"] / floor["rate"],
        "cpu_ratio": sum(floor["cpu_ms_per_version"].values()) / sum(mine["cpu_ms_per_version"].values()),
        "ratios": [one["rate"] / other["rate"] for one, other in zip(ours, bare, strict=True)],
    }


async def make(bench: Bench, jobs: list[Job], probes: str | None = None) -> Numbers:
    """Make some versions; measure until their children exist, and count until all is quiet again.

    Args:
        probes: begin of the names of single versions that are made meanwhile next door; none are made without it.
    """
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(job: Job) -> float:
        async with limit:
            started = time.perf_counter()
            await asyncio.gather(*(bench.client.request(**request) for request in job.requests))
        return await bench.arrivals.of(job.children) - started

    writes, cpu = await meters.quiet(bench.client), _cpu(bench)
    started = time.perf_counter()
    during = asyncio.create_task(_probes(bench, probes)) if probes else None
    latencies = await asyncio.gather(*(one(job) for job in jobs))
    took = time.perf_counter() - started
    probed = await _stopped(during) if during else []
    counted = await meters.quiet(bench.client) - writes
    spent = {part: after - cpu[part] for part, after in _cpu(bench).items()}
    return {
        "size": len(jobs),
        "made": len(jobs) + len(probed),
        "probes": probed,
        "seconds": took,
        "rate": (len(jobs) + len(probed)) / took,
        "latencies": latencies,
        "writes": counted,
        "cpu": spent,
    }


def _sum(rounds: list[Numbers]) -> Numbers:
    seconds = sum(r["seconds"] for r in rounds)
    made = sum(r["made"] for r in rounds)  # with those that probe how long a single one takes
    counted = sum((r["writes"] for r in rounds), meters.Writes())
    return {
        "rate": made / seconds,
        "seconds": seconds,
        **_quantiles([latency for r in rounds for latency in r["latencies"]]),
        "applies_per_version": meters.applies(counted) / made,
        "writes_per_version": {what: round(count / made, 2) for what, count in sorted(counted.items())},
        "cpu_ms_per_version": {part: 1000 * sum(r["cpu"][part] for r in rounds) / made for part in rounds[0]["cpu"]},
    }


def _quantiles(values: list[float]) -> Numbers:
    ordered = sorted(values)
    if not ordered:
        return {}
    last = len(ordered) - 1
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[min(last, int(len(ordered) * 0.99))], "of": len(ordered)}


def _cpu(bench: Bench) -> dict[str, float]:
    """Return the processor time used so far, by who used it."""
    return {
        "server": sum(map(meters.cpu_seconds, meters.children_named("kube-apiserver", "etcd"))),
        "controllers": sum(
            map(meters.cpu_seconds, meters.children_named("kube-controller-manager", "kube-scheduler", "kwok"))
        ),
        "client": time.process_time(),
        "operator": bench.operator.cpu_seconds(),
    }


def bare_job(number: int) -> Job:
    """Write everything that exists in the end by server-side apply, side by side, and nothing else."""
    params = {"fieldManager": "bare", "force": "true"}
    requests = [
        {
            "method": "PATCH",
            "path": BY_KIND[obj["kind"]].path(_BARE, obj["metadata"]["name"]),
            "params": params,
            "body": obj,
            "content_type": "application/apply-patch+yaml",
        }
        for obj in objects.family(_BARE, number)
    ]
    return Job(requests, objects.children(_BARE, number))


def our_job(name: int | str, namespace: str = _OURS) -> Job:
    """Create the version alone: the rest is the operator's."""
    body = objects.version(namespace, name)
    request = {"method": "POST", "path": INFERENCE_VERSION.path(namespace), "body": body}
    return Job([request], objects.children(namespace, name))


async def _single(bench: Bench, name: str) -> float:
    """Return the seconds from one version's creation to its Deployment, while nothing else is asked."""
    job = our_job(name, _PROBE)
    started = time.perf_counter()
    await bench.client.request(**job.requests[0])
    took = await bench.arrivals.of(ident for ident in job.children if ident[0] == "Deployment") - started
    await asyncio.sleep(_BETWEEN_S)
    return took


async def _probes(bench: Bench, name: str) -> list[float]:
    """Create single versions next door, one after another, until cancelled; return how long each one took."""
    found: list[float] = []
    one: asyncio.Task[float] | None = None
    try:
        while True:
            one = asyncio.create_task(_single(bench, f"{name}-{len(found)}"))
            found.append(await asyncio.shield(one))
    except asyncio.CancelledError:
        return found if one is None else [*found, await one]


async def _stopped(probes: asyncio.Task[list[float]]) -> list[float]:
    probes.cancel()
    return await probes


async def _resync(bench: Bench, size: int) -> Numbers:
    """Touch every endpoint, so that each is looked at again though nothing is to do; once more with single versions."""
    before, cpu = await meters.quiet(bench.client), bench.operator.cpu_seconds()
    await _touch(bench, size, "once")
    await _settled(bench)
    written = meters.applies(await meters.quiet(bench.client) - before)
    spent = bench.operator.cpu_seconds() - cpu
    during = asyncio.create_task(_probes(bench, "resync"))
    await _touch(bench, size, "twice")
    return {
        "resync_writes": written,
        "resync_cpu_ms_per_version": 1000 * spent / size,
        "resync_probe": _quantiles(await _stopped(during)),
    }


async def _touch(bench: Bench, size: int, note: str) -> None:
    limit = asyncio.Semaphore(_AT_ONCE)
    body = {"metadata": {"annotations": {"bench": note}}}

    async def touch(number: int) -> None:
        path = INFERENCE_ENDPOINT.path(_OURS, objects.endpoint_of(number))
        async with limit:
            await bench.client.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    await asyncio.gather(*(touch(number) for number in range(size)))


async def _restart(bench: Bench) -> Numbers:
    """Kill the operator and start it again with everything there."""
    before = await meters.quiet(bench.client)
    bench.operator.kill()
    started = time.perf_counter()
    bench.operator.start()
    until_healthy = time.perf_counter() - started
    await _settled(bench)
    written = meters.applies(await meters.quiet(bench.client) - before)
    return {
        "restart_writes": written,
        "restart_s": until_healthy,
        "restart_cpu_s": bench.operator.cpu_seconds(),
        "rss_after_restart_mib": bench.operator.rss_mib(),
    }


async def _settled(bench: Bench) -> None:
    """Wait until the operator has looked at everything: for two seconds it does next to nothing."""
    before = -1.0
    while (now := bench.operator.cpu_seconds()) - before > _NEXT_TO_NOTHING * _LOOK_S:
        before = now
        await asyncio.sleep(_LOOK_S)


async def _idle(bench: Bench) -> Numbers:
    before = bench.operator.cpu_seconds()
    await asyncio.sleep(_IDLE_S)
    return {"idle_cpu_percent": 100 * (bench.operator.cpu_seconds() - before) / _IDLE_S}
