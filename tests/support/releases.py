"""Releases by steps on a cluster: what to ask for, and where one is."""

import itertools
import json
from typing import Any

from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace, summary
from tests.support.load import ask, failed
from tests.support.wait import NotYet, wait_until

Object = dict[str, Any]
_WITHIN = 120.0
# What a small machine that runs the whole cluster keeps even while pods start; the slow build is far above.
LAX_SLO = {"p95": "2s", "p99": "4s", "errorRate": "1%"}


_numbers = itertools.count(10_001)


def good(version: str, image: str, **spec: Any) -> Object:
    """Return a version that answers well, and is no snapshot that ever was stable: its timeout is a new one."""
    return sentiment(version, image, slo=LAX_SLO, guardrails={"timeout": f"{next(_numbers)}ms"}, **spec)


def serve(ns: Namespace, image: str, version: str) -> Namespace:
    """Let a version be the stable one of an endpoint whose Gateway answers."""
    ns.apply(good(version, image))
    ns.wait_stable(version)
    wait_until("waiting until the Gateway answers", lambda: not failed([ask(ns.target())]), within=30)
    return ns


def go_back(ns: Namespace, version: str) -> None:
    """Leave the endpoint with this version as the stable one, unpinned, and with no other."""
    ns.kubectl.patch("iep", "news", {"spec": {"version": version, "paused": False}})
    ns.wait_stable(version)
    for iv in ns.all_of("iv"):
        if iv["spec"]["endpoint"] == "news" and iv["spec"]["version"] != version:
            ns.kubectl.delete("iv", iv["metadata"]["name"])
    ns.kubectl.patch("iep", "news", {"spec": {"version": None}})


def canary(*weights: int, duration: str = "5s", requests: int = 20, **more: Any) -> Object:
    """Return ``spec.traffic`` of a canary with steps that all last as long."""
    steps = [{"weight": weight, "minDuration": duration, "minRequests": requests} for weight in weights]
    # Two versions share two processors with everything else here: their ratio says little, unlike the objectives.
    plan = {"steps": steps, "maxLatencyRatio": "20"}
    return {"strategy": "Canary", "interval": "1s", "canary": plan, **more}


def shadow(percent: int = 100, duration: str = "5s", requests: int = 20, **more: Any) -> Object:
    """Return ``spec.traffic`` of a shadow."""
    plan = {"percent": percent, "minDuration": duration, "minRequests": requests, "maxMismatch": "1%", **more}
    return {"strategy": "Shadow", "interval": "1s", "shadow": plan}


def status_of(ns: Namespace, endpoint: str = "news") -> Object:
    status: Object = ns.seen("iep", endpoint).get("status", {})
    return status


def history_of(ns: Namespace, endpoint: str = "news") -> list[Object]:
    history: list[Object] = status_of(ns, endpoint).get("history", [])
    return history


def gates_of(entry: Object) -> dict[str, str]:
    """Return what each gate said."""
    return {gate["name"]: gate["verdict"] for gate in entry.get("gates", ())}


def wait_step(
    ns: Namespace, version: str, step: int | None, *, phase: str = "Canary", endpoint: str = "news", begun: bool = True
) -> Object:
    """Wait until a candidate is in a step (None: whatever step) and, unless said otherwise, it has begun."""

    def probe() -> Object:
        candidate: Object = status_of(ns, endpoint).get("candidate") or {}
        there = candidate.get("version") == version and candidate.get("phase") == phase
        if not there or (step is not None and candidate.get("step") != step) or (begun and "since" not in candidate):
            raise NotYet(f"{summary(ns.get('iep', endpoint))} history: {_short(history_of(ns, endpoint))}")
        return candidate

    return wait_until(f"waiting until {version} is in {phase} step {step}", probe, within=_WITHIN)


def wait_outcome(
    ns: Namespace, version: str, outcome: str, *, endpoint: str = "news", within: float = _WITHIN
) -> Object:
    """Wait until the newest outcome in the history is this one, of the version as it is now; return its entry."""

    def probe() -> Object:
        history = history_of(ns, endpoint)
        digest = ns.seen("iv", f"{endpoint}-{version}").get("status", {}).get("snapshotDigest")
        if not history or _what(history[0]) != (version, outcome, digest):
            raise NotYet(f"{summary(ns.get('iep', endpoint))} history: {_short(history)}")
        return history[0]

    return wait_until(f"waiting until {version} is {outcome}", probe, within=within)


def _what(entry: Object) -> tuple[str, str, str]:
    return entry["version"], entry["outcome"], entry.get("digest", "")


def _short(history: list[Object]) -> str:
    return json.dumps([[e["version"], e["outcome"], e.get("message", "")[:300]] for e in history[:3]])
