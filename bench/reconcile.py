"""apply -> all children exist, beside a bare asyncio client that creates the same objects; writes, resync, memory."""

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import kopf

from bench import objects
from dev import gotools
from dev.paths import ROOT, paths
from inferenceversion_operator.adapters.kube.client import KubeClient
from inferenceversion_operator.adapters.kube.resources import BY_KIND, INFERENCE_VERSION, Resource
from tests.support.control_plane import control_plane
from tests.support.kubectl import Kubectl
from tests.support.operator_process import OperatorProcess, running_operator

Say = Callable[[str], None]
_AT_ONCE = 16
_NODES = 50
_KINDS = ("ConfigMap", "Deployment", "Service", "PodDisruptionBudget")


class Arrivals:
    """When each child was first seen, by watches of the benchmark's own."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], float] = {}

    async def follow(self, client: KubeClient, resource: Resource, namespace: str) -> None:
        """Record every object of a resource in a namespace."""
        params = {"watch": "true", "timeoutSeconds": "3000"}
        async with client.stream(resource.path(namespace), params, 3000) as stream:
            buffer = b""
            async for chunk in stream.iter_any():
                now = time.perf_counter()
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    found = re.search(rb'"metadata":\{"name":"([^"]+)"', line)
                    if found:
                        self.seen.setdefault((resource.kind, found[1].decode()), now)

    async def wait(self, wanted: Iterable[tuple[str, str]]) -> float:
        """Return when the last of these was there."""
        missing = set(wanted)
        while missing := {key for key in missing if key not in self.seen}:  # noqa: ASYNC110 (fed by other tasks)
            await asyncio.sleep(0.002)
        return max(self.seen[key] for key in wanted)


async def run(folder: Path, sizes: list[int], say: Say) -> list[dict[str, Any]]:
    """Measure each size, the bare client and the operator side by side."""
    with control_plane(folder, fake_nodes=_NODES) as plane:
        kubectl = Kubectl(gotools.binary(paths(), "kubernetes", "kubectl"), plane.kubeconfig)
        kubectl.run("apply", "-f", str(ROOT / "crds"))
        kubectl.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        results = []
        info = kopf.ConnectionInfo(server=plane.url, token=plane.token, insecure=True)
        async with KubeClient(info) as client:
            for size in sizes:
                say(f"{size} versions: bare client")
                bare = await _bare(client, kubectl, size)
                say(f"{size} versions: operator")
                kubectl.run("create", "namespace", f"ours-{size}")
                with running_operator(
                    plane.kubeconfig,
                    folder / "operator.log",
                    IVO_LOG_LEVEL="warning",
                    IVO_WATCH_NAMESPACES=f"ours-{size}",
                ) as operator:
                    ours = await _operator(client, operator, size)
                results.append({"versions": size, "bare": bare, "operator": ours, "ratio": ours["rate"] / bare["rate"]})
                say(f"{size} versions: {ours['rate']:.1f}/s, {results[-1]['ratio']:.2f} of the bare client")
                kubectl.run("delete", "namespace", f"bare-{size}", f"ours-{size}", timeout=600)
    return results


async def _bare(client: KubeClient, kubectl: Kubectl, size: int) -> dict[str, float]:
    namespace = f"bare-{size}"
    kubectl.run("create", "namespace", namespace)
    families = [objects.family(namespace, number) for number in range(size)]
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> None:
        async with limit:
            await asyncio.gather(*(_apply(client, obj) for obj in families[number]))

    async with _watching(client, namespace) as arrivals:
        return await _measure(size, one, arrivals, [_children(family) for family in families])


def _children(family: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the version's own children: the endpoint's Service comes later, with its first ready pod."""
    mine = [obj for obj in family if obj["kind"] in _KINDS]
    return [objects.ident(obj) for obj in mine if "inferenceversion.io/name" in obj["metadata"]["labels"]]


async def _apply(client: KubeClient, obj: dict[str, Any]) -> None:
    path = BY_KIND[obj["kind"]].path(obj["metadata"]["namespace"], obj["metadata"]["name"])
    params = {"fieldManager": "bare", "force": "true"}
    await client.request("PATCH", path, params=params, body=obj, content_type="application/apply-patch+yaml")


async def _operator(client: KubeClient, operator: OperatorProcess, size: int) -> dict[str, float]:
    namespace = f"ours-{size}"
    limit = asyncio.Semaphore(_AT_ONCE)
    families = [_children(objects.family(namespace, number)) for number in range(size)]

    async def one(number: int) -> None:
        async with limit:
            body = objects.version(namespace, number)
            await client.request("POST", INFERENCE_VERSION.path(namespace), body=body)

    writes = await _writes(client)
    async with _watching(client, namespace) as arrivals:
        measured = await _measure(size, one, arrivals, families)
    measured["writes_per_version"] = (await _quiet(client) - writes) / size
    measured["rss_mib"] = operator.rss_mib()
    before = await _writes(client)
    started = time.perf_counter()
    operator.kill()
    operator.start()
    measured["resync_writes"] = await _quiet(client) - before
    measured["restart_s"] = time.perf_counter() - started - _QUIET_S
    measured["idle_cpu_percent"] = await _idle_cpu(operator)
    measured["rss_after_restart_mib"] = operator.rss_mib()
    return measured


async def _measure(
    size: int, one: Callable[[int], Any], arrivals: Arrivals, families: list[list[tuple[str, str]]]
) -> dict[str, float]:
    latencies: list[float] = []

    async def timed(number: int) -> None:
        begun = asyncio.create_task(one(number))
        started = time.perf_counter()
        await begun
        latencies.append(await arrivals.wait(families[number]) - started)

    started = time.perf_counter()
    await asyncio.gather(*(timed(number) for number in range(size)))
    took = time.perf_counter() - started
    latencies.sort()
    return {
        "rate": size / took,
        "seconds": took,
        "p50": latencies[len(latencies) // 2],
        "p99": latencies[min(len(latencies) - 1, int(len(latencies) * 0.99))],
    }


@contextlib.asynccontextmanager
async def _watching(client: KubeClient, namespace: str) -> Any:
    arrivals = Arrivals()
    tasks = [asyncio.create_task(arrivals.follow(client, BY_KIND[kind], namespace)) for kind in _KINDS]
    try:
        yield arrivals
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _writes(client: KubeClient) -> float:
    """Return how many server-side applies the API server has counted; nobody but operator and bare client sends any."""
    total = 0.0
    for line in (await client.text("/metrics")).splitlines():
        if line.startswith("apiserver_request_total{") and 'verb="APPLY"' in line:
            total += float(line.rsplit(" ", 1)[1])
    return total


_QUIET_S = 3.0


async def _quiet(client: KubeClient) -> float:
    """Wait until nothing was written for a while; return the count."""
    count, since = await _writes(client), time.perf_counter()
    while time.perf_counter() - since < _QUIET_S:
        await asyncio.sleep(0.25)
        now = await _writes(client)
        if now != count:
            count, since = now, time.perf_counter()
    return count


async def _idle_cpu(operator: OperatorProcess, seconds: float = 15.0) -> float:
    before = operator.cpu_seconds()
    await asyncio.sleep(seconds)
    return 100 * (operator.cpu_seconds() - before) / seconds


def table(results: list[dict[str, Any]]) -> str:
    """Return the results as a Markdown table, with the machine named."""
    rows = [
        (
            "| versions | bare/s | operator/s | ratio | p50 s | p99 s | writes/version | resync writes | restart s "
            "| RSS MiB | idle CPU % |"
        ),
        "|" + "---|" * 11,
    ]
    for r in results:
        o = r["operator"]
        rows.append(
            f"| {r['versions']} | {r['bare']['rate']:.1f} | {o['rate']:.1f} | {r['ratio']:.2f} | {o['p50']:.2f} | "
            f"{o['p99']:.2f} | {o['writes_per_version']:.1f} | {o['resync_writes']:.0f} | {o['restart_s']:.1f} | "
            f"{o['rss_mib']:.0f} | {o['idle_cpu_percent']:.1f} |"
        )
    return "\n".join(
        [*rows, "", f"{os.cpu_count()} cores; load of the machine when it ended: {os.getloadavg()[0]:.1f}"]
    )
