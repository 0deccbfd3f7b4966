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
_Found = TypeVar("_Found")


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

    def wait(
        self,
        what: str,
        found: Callable[[Look], _Found | None],
        within: float,
        tell: Callable[[Look | None, Look], None] = lambda _before, _now: None,
    ) -> _Found:
        """Look until ``found`` returns something, and return that.

        Args:
            what: for the message, such as "2.4.0 gets Ready".
            found: what is waited for; None or False: not yet.
            within: seconds.
            tell: called with each look and the one before.

        Raises:
            StoryError: not in time, or the endpoint waits for a person.
        """
        began = moving = time.monotonic()
        before: Look | None = None
        problem = ""
        while True:
            try:
                now, problem = self.look(), ""
            except ClusterError as error:  # it may be restarting
                now, problem = None, str(error)
            if now:
                tell(before, now)
                if result := found(now):
                    return result
                before = now
                moving = moving if now.view.phase == "Stalled" else time.monotonic()
            last = problem or state_in_words(before.view if before else None)
            if time.monotonic() - moving > _STALLED_S and before and before.view.phase == "Stalled":
                raise StoryError(f"{what}: it waits for a person: {last}")
            if time.monotonic() - began > within:
                raise StoryError(f"{what}: not within {within:.0f} s; seen last: {last}")
            time.sleep(_POLL_S)
