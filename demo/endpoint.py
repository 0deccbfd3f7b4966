"""The demo's endpoint, looked at again and again until something is so; what takes too long says what was seen last."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from demo.cluster import Cluster
from demo.manifests import ENDPOINT
from demo.scene import state_in_words
from inferenceversion_operator.cli.cluster import Target, connect
from inferenceversion_operator.cli.errors import ClusterError
from inferenceversion_operator.cli.views.status import EndpointView, State, VersionView, view_endpoint

NAMESPACE = "default"
Object = Mapping[str, Any]
_POLL_S = 0.4
# What waits for a person may go on by itself in a moment: Prometheus answers again, say.
_STALLED_S = 15.0
T = TypeVar("T")


class StoryError(Exception):
    """The story can't go on; the message says what was seen last."""


@dataclass(frozen=True, slots=True)
class Look:
    """The endpoint and its versions at a moment; ``history`` is the status's, the newest outcome first."""

    view: EndpointView
    history: tuple[Object, ...]
    versions: tuple[Object, ...]

    @property
    def host(self) -> str:
        """Return the hostname of the endpoint's URL."""
        return (self.view.url or "").partition("://")[2].strip("/")

    def version(self, version: str) -> VersionView | None:
        return next((each for each in self.view.versions if each.version == version), None)

    def object_of(self, version: str) -> Object | None:
        return next((obj for obj in self.versions if obj["spec"]["version"] == version), None)

    @property
    def at_rest(self) -> bool:
        """Say whether a version serves and nothing is on its way."""
        ready = self.view.up_to_date and self.view.state is State.CURRENT
        return ready and self.view.phase == "Stable" and self.view.candidate is None


Found = Callable[[Look], T | None]
Tell = Callable[[Look | None, Look], None]


def _silent(_before: Look | None, _now: Look) -> None:
    """Tell nothing."""


class Endpoint:
    """Reads the endpoint ``news-sentiment``; everything is written by kubectl, as a person would."""

    def __init__(self, cluster: Cluster) -> None:
        self._api = connect(Target(NAMESPACE, None, cluster.kubeconfig))

    def look(self) -> Look | None:
        """Return the endpoint; None where there is none.

        Raises:
            ClusterError: the cluster can't be asked, or has no such kind.
        """
        found = self._api.find("InferenceEndpoint", NAMESPACE, ENDPOINT)
        if found is None:
            return None
        versions = tuple(self._api.versions_of(ENDPOINT))
        history = tuple((found.get("status") or {}).get("history") or ())
        return Look(view_endpoint(found, versions), history, versions)

    def wait(self, what: str, found: Found[T], within: float, tell: Tell = _silent) -> T:
        """Look until ``found`` returns something; see ``wait_for``."""
        return wait_for(self.look, what, found, within, tell)


def wait_for(
    look: Callable[[], Look | None],
    what: str,
    found: Found[T],
    within: float,
    tell: Tell = _silent,
    stalled: float = _STALLED_S,
) -> T:
    """Look until ``found`` returns something, and return that.

    Args:
        look: as ``Endpoint.look``.
        what: for the message, such as "2.4.0 gets Ready".
        found: what is waited for; None or False: not yet.
        within: seconds.
        tell: called with each look and the one before.
        stalled: seconds after which what waits for a person is given up.

    Raises:
        StoryError: not in time, or the endpoint waits for a person.
    """
    began = moving = time.monotonic()
    before: Look | None = None
    while True:
        problem = ""
        try:
            now = look()
        except ClusterError as error:  # it may be restarting
            now, problem = None, str(error)
        if now:
            tell(before, now)
            if result := found(now):
                return result
            before = now
        last = problem or state_in_words(before.view if before else None)
        if before is None or before.view.phase != "Stalled":
            moving = time.monotonic()
        if time.monotonic() - moving > stalled:
            raise StoryError(f"{what}: it waits for a person: {last}")
        if time.monotonic() - began > within:
            raise StoryError(f"{what}: not within {within:g} s; seen last: {last}")
        time.sleep(_POLL_S)
