"""The namespace that releases are measured in, what is applied there, how changes are made and seen without delay."""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import urllib3
from kubernetes import client, config, watch

from tests.support.cluster import SYSTEM, Cluster, install_operator
from tests.support.cluster_manifests import sentiment
from tests.support.cluster_models import ECHO, python_model
from tests.support.cluster_namespace import Namespace
from tests.support.cluster_servers import FileServer, sha256, start_file_server
from tests.support.load import ask, failed
from tests.support.releases import LAX_SLO
from tests.support.wait import NotYet, wait_until

Object = dict[str, Any]
Numbers = dict[str, Any]
Say = Callable[[str], None]
NAMESPACE = "bench-releases"
_OURS = ("inferenceversion.io", "v1alpha1")
_GROUPS = {
    "inferenceendpoints": _OURS,
    "inferenceversions": _OURS,
    "httproutes": ("gateway.networking.k8s.io", "v1"),
}
_timeouts = itertools.count(10_001)


@dataclass(frozen=True, slots=True)
class Seen:
    """A state of an object, and when it was seen (``time.monotonic``)."""

    at: float
    obj: Object


class Follower:
    """A watch of one object, in a thread of its own; use it in a ``with``."""

    def __init__(self, objects: Any, plural: str, name: str) -> None:
        self._objects = objects
        self._place = (*_GROUPS[plural], NAMESPACE, plural)
        self._name = name
        self._watch = watch.Watch()  # type: ignore[no-untyped-call]
        self._states: list[Seen] = []
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"watch {plural}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.stop()  # type: ignore[no-untyped-call]  # it ends at its next event, or with the process

    def wait(self, what: str, is_there: Callable[[Object], bool], *, after: float, within: float = 120) -> Seen:
        """Return the first state since a moment of which ``is_there`` is true.

        Raises:
            AssertionError: there was none in time; names the last state seen.
        """
        until = time.monotonic() + within
        looked = 0
        with self._news:
            while True:
                for seen in self._states[looked:]:
                    if seen.at >= after and is_there(seen.obj):
                        return seen
                looked = len(self._states)
                if not self._news.wait(max(0.0, until - time.monotonic())):
                    last = self._states[-1].obj if self._states else None
                    raise AssertionError(f"waiting until {what}: not within {within:g} s; last seen: {last}")

    def _run(self) -> None:
        with contextlib.suppress(urllib3.exceptions.ProtocolError):  # the namespace is gone
            self._note_all()

    def _note_all(self) -> None:
        listed = self._objects.list_namespaced_custom_object
        events = self._watch.stream(  # type: ignore[no-untyped-call]
            listed, *self._place, field_selector=f"metadata.name={self._name}"
        )
        for event in events:
            seen = Seen(time.monotonic(), event["object"])
            with self._news:
                self._states.append(seen)
                self._news.notify_all()


@dataclass(frozen=True, slots=True)
class Stage:
    """What the measurements share."""

    ns: Namespace
    image: str
    files: FileServer
    objects: Any  # kubernetes.client.CustomObjectsApi
    say: Say

    def real(self, version: str, endpoint: str, **spec: Any) -> Object:
        """Return a version of the news-sentiment service that is no snapshot that ever was stable."""
        return sentiment(version, self.image, endpoint=endpoint, slo=LAX_SLO, guardrails=_new_timeout(), **spec)

    def echo(self, version: str, endpoint: str, **spec: Any) -> Object:
        """Return a version that answers the same to everything, so that the model is not what is measured."""
        source = self.files.put("echo/model.py", ECHO)
        model = {"sourceSecretRef": {"name": self.files.secret}}
        more = {"slo": LAX_SLO, "guardrails": _new_timeout(), "endpoint": endpoint, **spec}
        return python_model(version, self.image, source, sha256(ECHO), model=model, **more)

    def serve(self, version: Object) -> None:
        """Apply a version and wait until it answers all requests."""
        endpoint = version["spec"]["endpoint"]
        self.ns.apply(version)
        self.ns.wait_stable(version["spec"]["version"], endpoint)
        wait_until("waiting until the Gateway answers", lambda: not failed([ask(self.ns.target(endpoint))]), within=60)

    def patch(self, plural: str, name: str, body: Object) -> float:
        """Change an object by a merge patch on a connection that is open; return when it was sent."""
        sent = time.monotonic()
        self.objects.patch_namespaced_custom_object(*_GROUPS[plural], NAMESPACE, plural, name, body)
        return sent

    def act(self, endpoint: str, line: str) -> float:
        """Ask something of the release that is under way."""
        note = {"metadata": {"annotations": {"inferenceversion.io/action": line}}}
        return self.patch("inferenceendpoints", endpoint, note)

    def follow(self, plural: str, name: str) -> Follower:
        return Follower(self.objects, plural, name)

    def clear(self) -> None:
        """Remove every endpoint with its versions, and wait until their pods need no processor any more."""
        kubectl = self.ns.kubectl
        # What serves is protected from being deleted by mistake.
        kubectl.run("annotate", "iv,iep", "--all", "--overwrite", "inferenceversion.io/delete-protection=disabled")
        kubectl.run("delete", "iv,iep", "--all", "--wait=true")
        kubectl.run("delete", "pods", "-l", "inferenceversion.io/endpoint", "--grace-period=1")


def _new_timeout() -> Object:
    return {"timeout": f"{next(_timeouts)}ms"}


@contextlib.contextmanager
def set_up(cluster: Cluster, say: Say, *, install: bool) -> Iterator[Stage]:
    """Make the namespace, and remove it; install the operator of this tree unless one is to be measured as it is."""
    if install:
        say("installing the operator of this tree")
        install_operator(cluster, cluster.load_image("operator"))
    image = cluster.load_image("triton-sentiment")
    ns = Namespace(NAMESPACE, cluster)
    _remove(ns)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.as_user.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
    try:
        say("starting the server of models")
        files = start_file_server(ns, operator_of(cluster))
        reach = config.new_client_from_config(str(cluster.kubeconfig))  # type: ignore[no-untyped-call]
        objects = client.CustomObjectsApi(reach)
        yield Stage(ns, image, files, objects, say)
    finally:
        say(f"removing namespace {NAMESPACE}")
        _remove(ns)


def operator_of(cluster: Cluster) -> str:
    """Return the image of the operator that runs."""
    (deployment,) = cluster.api.all_of("deployment", SYSTEM)
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def load_average() -> float:
    """Return how many processes wanted a processor in the last minute, on average: others' work is noise."""
    return round(os.getloadavg()[0], 1)


def _remove(ns: Namespace) -> None:
    if not _exists(ns):
        return
    ns.cluster.as_user.delete("namespace", ns.name)
    # Nobody asks these pods any more: they need not drain.
    ns.kubectl.run("delete", "pods", "--all", "--grace-period=1", "--wait=false")

    def gone() -> bool:
        if _exists(ns):
            raise NotYet(f"{len(ns.all_of('pod'))} pods are left")
        return True

    wait_until(f"waiting until namespace {ns.name} is gone", gone, within=180)


def _exists(ns: Namespace) -> bool:
    return ns.cluster.api.read(f"/api/v1/namespaces/{ns.name}") is not None
