"""Wait for what the operator makes of a change, and say meanwhile why it takes so long."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.cli.cluster import Cluster
from inferenceversion_operator.cli.errors import ClusterError, UserError
from inferenceversion_operator.cli.output import say
from inferenceversion_operator.cli.views.candidate import LOOK_FOR_OPERATOR
from inferenceversion_operator.cli.views.status import EndpointView, view_endpoint

Object = Mapping[str, Any]
POLL_S = 0.1
PATIENCE_S = 2.0  # after that the user is told what is waited for
SILENCE_S = 5.0  # an operator that runs has seen a change by then


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at an endpoint."""

    endpoint: Object
    versions: Sequence[Object]
    view: EndpointView


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is waited for.

    Attributes:
        heard: whether the operator has seen the change at all; the others are asked only then.
        done: whether it is there.
        hopeless: why it will never get there, if that is so.
        tell: what it waits for now, in a sentence.
    """

    heard: Callable[[Seen], bool]
    done: Callable[[Seen], bool]
    hopeless: Callable[[Seen], str | None]
    tell: Callable[[Seen], str]


@dataclass(frozen=True, slots=True)
class Waited:
    """How it ended.

    Attributes:
        seconds: that it took; None: not in time.
        heard: whether the operator reacted.
        last: the last look; None where the cluster never answered.
    """

    seconds: float | None
    heard: bool
    last: Seen | None


def look(cluster: Cluster, name: str) -> Seen:
    """Look at an endpoint and its versions.

    Raises:
        UserError: there is no such endpoint, or the cluster can't be asked.
    """
    endpoint, versions = cluster.endpoint(name), cluster.versions_of(name)
    return Seen(endpoint, versions, view_endpoint(endpoint, versions))


def wait(cluster: Cluster, name: str, what: Waiting, timeout: float) -> Waited:
    """Wait for an endpoint to get somewhere, at most ``timeout`` seconds.

    Raises:
        UserError: it will never get there.
    """
    began, told, warned, heard = time.monotonic(), "", False, False
    last: Seen | None = None
    while True:
        seen = _try(cluster, name)
        took = time.monotonic() - began
        last = seen or last
        heard = heard or (seen is not None and what.heard(seen))
        if seen and heard:
            if what.done(seen):
                return Waited(took, heard, seen)
            if why := what.hopeless(seen):
                raise UserError(why)
        if took >= timeout:
            return Waited(None, heard, last)
        if not heard and not warned and took > SILENCE_S:
            warned = True
            say(f"{took:.0f} s: the operator has not reacted yet: {LOOK_FOR_OPERATOR}")
        if seen and heard and took > PATIENCE_S and what.tell(seen) != told:
            told = what.tell(seen)
            say(f"{took:.0f} s: {told}")
        time.sleep(min(POLL_S, max(0.0, timeout - took)))


def silence(timeout: float) -> str:
    """Return what to say where the operator never reacted."""
    return f"the operator has not reacted within {timeout:g} s: {LOOK_FOR_OPERATOR}"


def _try(cluster: Cluster, name: str) -> Seen | None:
    """Return a look; None where the cluster does not answer just now."""
    try:
        return look(cluster, name)
    except ClusterError:
        return None
