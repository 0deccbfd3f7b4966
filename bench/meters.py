"""What a benchmark reads off: requests that the API server counted, processor time of processes."""

import asyncio
import os
import re
import time
from collections import Counter
from pathlib import Path

from inferenceversion_operator.adapters.kube.client import KubeClient

Writes = Counter[str]  # "APPLY deployments", "APPLY inferenceversions/status"...
_COUNTED = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITING = {"APPLY", "POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"}
# What a control plane at rest goes on writing.
_HEARTBEATS = {"leases", "nodes", "nodes/status", "events"}
_QUIET_S = 3.0


async def writes(client: KubeClient) -> Writes:
    """Return the writes that the API server has counted since its start, by verb and resource; nobody's heartbeats."""
    found: Writes = Counter()
    for labels, value in _COUNTED.findall(await client.text("/metrics")):
        label = dict(_LABEL.findall(labels))
        resource = "/".join(filter(None, (label.get("resource"), label.get("subresource"))))
        if label.get("verb") in _WRITING and resource not in _HEARTBEATS and label.get("group") != "events.k8s.io":
            found[f"{label['verb']} {resource}"] += int(float(value))
    return found


def applies(counted: Writes) -> int:
    """Return how many server-side applies there are: of the operator and of the bare client, nobody else sends any."""
    return sum(count for what, count in counted.items() if what.startswith("APPLY "))


async def quiet(client: KubeClient) -> Writes:
    """Wait until nobody has written anything for three seconds; return the counts."""
    counted, since = await writes(client), time.perf_counter()
    while time.perf_counter() - since < _QUIET_S:
        await asyncio.sleep(0.5)
        now = await writes(client)
        if now != counted:
            counted, since = now, time.perf_counter()
    return counted


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_named(*names: str) -> list[int]:
    """Return the processes with these names that this process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it has ended meanwhile
            continue
        if name in {full[:15] for full in names} and int(rest.split()[1]) == os.getpid():
            found.append(int(stat.parent.name))
    return found
