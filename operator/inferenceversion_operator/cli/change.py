"""What commands that change an endpoint share: not against Git, one patch, and waiting for its effect."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text

from inferenceversion_operator.cli.cluster import Cluster
from inferenceversion_operator.cli.errors import ClusterError, UserError
from inferenceversion_operator.cli.output import say, to_yaml
from inferenceversion_operator.cli.views.owner import change_in_git, find_owner
from inferenceversion_operator.cli.views.status import EndpointView, view_endpoint

Object = Mapping[str, Any]
_POLL_S = 0.1
_PATIENCE_S = 2.0  # after that the user is told what is waited for


def refuse_if_in_git(endpoint: Object, spec: Mapping[str, Any], *, force: bool) -> None:
    """Keep hands off what Argo CD or Flux owns: they would undo it. The change to make in Git goes to stdout.

    Raises:
        UserError: Git owns the endpoint and nobody insists.
    """
    owner = find_owner(endpoint)
    if owner is None:
        return
    name = endpoint["metadata"]["name"]
    if force:
        say(f"note: {owner} owns endpoint {name} and will undo this at its next sync, unless Git says the same")
        return
    unset = sorted(key for key, value in spec.items() if value is None)
    print(to_yaml(change_in_git(endpoint, {key: value for key, value in spec.items() if value is not None})), end="")
    remove = f" and remove {', '.join(f'spec.{key}' for key in unset)}" if unset else ""
    raise UserError(
        f"{owner} owns endpoint {name}: a change here would be undone. Set in Git what is printed above{remove}, "
        "or insist with --force"
    )


def wait_until(
    cluster: Cluster,
    name: str,
    done: Callable[[EndpointView], bool],
    give_up: Callable[[EndpointView], str | None],
    timeout: float,
) -> float | None:
    """Wait for an endpoint to get somewhere and return the seconds it took; None: not in time.

    Args:
        done: whether it is there; asked only of a status that speaks of the present spec.
        give_up: why it will never get there, if that is so.
        timeout: in seconds.

    Raises:
        UserError: it will never get there.
    """
    began, told = time.monotonic(), ""
    while True:
        view = _look(cluster, name)
        took = time.monotonic() - began
        if view and view.up_to_date:
            if done(view):
                return took
            if why := give_up(view):
                raise UserError(why)
        if took >= timeout:
            return None
        if view and took > _PATIENCE_S and view.message != told:
            told = view.message
            say(f"{took:.0f} s: {view.reason}: {told}")
        time.sleep(min(_POLL_S, max(0.0, timeout - took)))


def as_text(lines: list[str]) -> Text:
    """Return lines as what is printed."""
    return Text("\n".join(lines))


def _look(cluster: Cluster, name: str) -> EndpointView | None:
    """Return the endpoint; None where the cluster does not answer just now."""
    try:
        return view_endpoint(cluster.endpoint(name), cluster.versions_of(name))
    except ClusterError:
        return None
