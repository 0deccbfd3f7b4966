"""A namespace of a story: what is applied in it, what is seen in it, and what it looks like when a test fails."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.cluster import DOMAIN, Cluster
from tests.support.cluster_api import CHILD_KINDS
from tests.support.kubectl import Kubectl, KubectlFailed
from tests.support.load import Target
from tests.support.wait import NotYet, wait_until

Object = dict[str, Any]
_READY_WITHIN = 120.0  # Triton loads in ~10 s; a busy machine with two cores takes its time


@dataclass(frozen=True, slots=True)
class Namespace:
    """Acts go by kubectl, reads by the API."""

    name: str
    cluster: Cluster

    @property
    def kubectl(self) -> Kubectl:
        return self.cluster.as_user.inside(self.name)

    def apply(self, *objects: Mapping[str, Any]) -> None:
        self.kubectl.apply(*objects)

    def get(self, kind: str, name: str) -> Object | None:
        return self.cluster.api.get(kind, self.name, name)

    def seen(self, kind: str, name: str) -> Object:
        """Return an object that has to be there."""
        found = self.get(kind, name)
        assert found is not None, f"{kind} {name} is not there"
        return found

    def all_of(self, kind: str, selector: str = "") -> list[Object]:
        return self.cluster.api.all_of(kind, self.name, selector)

    def target(self, endpoint: str = "news", **headers: str) -> Target:
        """Return where requests to an endpoint go."""
        named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
        return Target(self.cluster.gateway, f"{endpoint}.{self.name}.{DOMAIN}", headers=named)

    def children(self, version: str) -> dict[str, Object]:
        """Return the children of a version and its endpoint's, by ``kind/name``, leaving out pods."""
        uid = self.seen("iv", version)["metadata"]["uid"]
        return {f"{kind}/{obj['metadata']['name']}": obj for kind, obj in self.owned() if _owned_by(obj, uid)}

    def owned(self) -> Iterator[tuple[str, Object]]:
        """Yield every object of the kinds that the operator makes, if one of ours owns it."""
        for kind in CHILD_KINDS:
            for obj in self.all_of(kind):
                owners = obj["metadata"].get("ownerReferences", ())
                if any(owner["apiVersion"].startswith("inferenceversion.io/") for owner in owners):
                    yield kind, obj

    def pods(self, version: str) -> list[Object]:
        """Return the pods of a version that are not on their way out."""
        derived = self.seen("iv", version).get("status", {}).get("name", "")
        found = self.all_of("pod", f"inferenceversion.io/name={derived}")
        return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]

    def condition(self, kind: str, name: str, type_: str) -> Object:
        """Return a condition, or one of status Unknown where there is none yet."""
        status = (self.get(kind, name) or {}).get("status", {})
        found = (c for c in status.get("conditions", ()) if c["type"] == type_)
        return next(found, {"type": type_, "status": "Unknown", "reason": "", "message": "no such condition"})

    def wait_condition(
        self, kind: str, name: str, type_: str, status: str = "True", *, reason: str = "", within: float = _READY_WITHIN
    ) -> Object:
        """Wait until a condition has a status (and a reason), and return it."""

        def probe() -> Object:
            found = self.condition(kind, name, type_)
            if found["status"] != status or (reason and found["reason"] != reason):
                raise NotYet(summary(self.get(kind, name)))
            return found

        wanted = f"{type_}={status}{' because of ' + reason if reason else ''}"
        return wait_until(f"waiting until {kind} {name} says {wanted}", probe, within=within)

    def wait_ready(self, *names: str, within: float = _READY_WITHIN) -> None:
        for name in names:
            self.wait_condition("iv", name, "Ready", reason="Ready", within=within)

    def wait_stable(self, version: str, endpoint: str = "news", *, within: float = _READY_WITHIN) -> None:
        """Wait until the endpoint says that this version serves all traffic."""

        def probe() -> bool:
            seen = self.get("iep", endpoint)
            ready = self.condition("iep", endpoint, "Ready")
            if seen is None or seen.get("status", {}).get("stable") != version or ready["status"] != "True":
                raise NotYet(f"{summary(seen)}; versions: {[summary(iv) for iv in self.all_of('iv')]}")
            return True

        wait_until(f"waiting until {version} is stable", probe, within=within)

    def wait_gone(self, what: str, look: Callable[[], object], *, within: float = 60) -> None:
        """Wait until ``look`` finds nothing."""

        def probe() -> bool:
            if found := look():
                raise NotYet(str(found)[:500])
            return True

        wait_until(f"waiting until {what}", probe, within=within)


@contextmanager
def fresh_namespace(cluster: Cluster, topic: str) -> Iterator[Namespace]:
    """Make a namespace under the strictest Pod Security Standard; it is gone (or going) afterwards."""
    namespace = Namespace(f"e2e-{topic}-{secrets.token_hex(2)}", cluster)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.as_user.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace.name, "labels": labels}}
    )
    try:
        yield namespace
    finally:
        cluster.as_user.delete("namespace", namespace.name)
        # Nobody asks these pods any more: they need not drain while the next story needs the processor.
        namespace.kubectl.run("delete", "pods", "--all", "--grace-period=1", "--wait=false")


def _owned_by(obj: Object, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences", ()))


def summary(obj: Object | None) -> str:
    """Return the part of an object of ours that a person wants to see when a test fails."""
    if obj is None:
        return "no such object"
    status = obj.get("status", {})
    conditions = [f"{c['type']}={c['status']} ({c['reason']}: {c['message']})" for c in status.get("conditions", ())]
    brief = {key: status[key] for key in ("role", "stable", "candidate", "readyReplicas", "phase") if key in status}
    return f"{obj['metadata']['name']} {brief}: {'; '.join(conditions) or 'no conditions'}"


def diagnose(namespace: Namespace) -> str:
    """Return what a person would look at first: conditions, events, pods, the tail of their logs."""
    lines = [f"--- {kind}: {summary(obj)}" for kind in ("iep", "iv") for obj in namespace.all_of(kind)]
    lines += ["--- events", *_events(namespace)]
    lines += ["--- pods", _said(namespace.kubectl, "get", "pods", "-o", "wide")]
    for pod in namespace.all_of("pod"):
        if pod["status"].get("phase") != "Running" or not _is_ready(pod):
            lines += [f"--- log of {pod['metadata']['name']}", _log(namespace, pod["metadata"]["name"])]
    operator = namespace.cluster.as_user.inside("ivo-system")
    lines += ["--- log of the operator", _said(operator, "logs", "deploy/ivo-inferenceversion-operator", "--tail=40")]
    return "\n".join(lines)


def _is_ready(pod: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", ()))


def _events(namespace: Namespace) -> list[str]:
    events = sorted(namespace.all_of("event"), key=lambda e: e.get("lastTimestamp") or e.get("eventTime") or "")
    return [
        f"{e.get('lastTimestamp') or e.get('eventTime')} {e['involvedObject']['kind']} {e['involvedObject']['name']} "
        f"{e['reason']}: {e.get('message', '')[:300]}"
        for e in events[-40:]
    ]


def _log(namespace: Namespace, pod: str) -> str:
    return _said(namespace.kubectl, "logs", pod, "--all-containers", "--prefix", "--tail=15")


def _said(kubectl: Kubectl, *words: str) -> str:
    try:
        return kubectl.run(*words, timeout=20)
    except KubectlFailed as error:
        return str(error)
