"""``kubectl iv status``: endpoints and their versions as a tree."""

import json
import sys
import time
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.live import Live

from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.completion import complete_endpoint
from inferenceversion_operator.cli.errors import ClusterError, UserError
from inferenceversion_operator.cli.options import AllNamespaces, Context, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, say, show, to_data
from inferenceversion_operator.cli.views.status import EndpointView, view_endpoint, view_endpoints
from inferenceversion_operator.cli.views.tree import make_tree

EXAMPLES = (
    "kubectl iv status",
    "kubectl iv status news-sentiment -n news --watch",
    "kubectl iv status -A -o json",
)
_INTERVAL_S = 1.0
_Look = Callable[[], list[EndpointView]]


def command(
    endpoint: Annotated[
        str | None,
        typer.Argument(
            help="One endpoint; all of the namespace where unset.",
            autocompletion=complete_endpoint,
            metavar="ENDPOINT",
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing what changes, until Ctrl-C.")] = False,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show endpoints with their versions: role, share of requests, ready replicas, digest, and what is wrong.

    With --watch a terminal shows one picture that moves; elsewhere each change is printed (as one line with -o json).
    """
    cluster = connect(Target(namespace, context, kubeconfig))

    def look() -> list[EndpointView]:
        return _look(cluster, endpoint, all_namespaces=all_namespaces)

    views = look()
    if watch:
        _watch(look, views, output)
        return
    show(views, output, make_tree(views))
    if not views and output is Format.TABLE:
        where = "any namespace" if all_namespaces else f"namespace {cluster.namespace}"
        say(f"no InferenceEndpoint in {where}: it comes with the first InferenceVersion")


def _look(cluster: Cluster, endpoint: str | None, *, all_namespaces: bool) -> list[EndpointView]:
    if endpoint and not all_namespaces:
        return [view_endpoint(cluster.endpoint(endpoint), cluster.versions_of(endpoint))]
    where = None if all_namespaces else cluster.namespace
    views = view_endpoints(cluster.endpoints(where), cluster.versions(where))
    if endpoint:
        views = [view for view in views if view.name == endpoint]
        if not views:
            raise UserError(f"no InferenceEndpoint {endpoint} in any namespace")
    return views


def _watch(look: _Look, views: list[EndpointView], output: Format) -> None:
    """Show what changes; a cluster that goes away in between is asked again."""
    if output is Format.TABLE and Console().is_terminal:
        with Live(make_tree(views), auto_refresh=False, vertical_overflow="visible") as live:
            _follow(look, views, lambda changed: live.update(make_tree(changed), refresh=True))
    _follow(look, views, lambda changed: _print_change(changed, output))


def _follow(look: _Look, views: list[EndpointView], tell: Callable[[list[EndpointView]], None]) -> NoReturn:
    before: list[EndpointView] | None = None
    while True:
        if views != before:
            tell(views)
        before, views = views, _again(look)


def _print_change(views: list[EndpointView], output: Format) -> None:
    if output is Format.JSON:
        print(json.dumps(to_data(views), ensure_ascii=False))
    else:
        if output is Format.YAML:
            print("---")
        show(views, output, make_tree(views))
    sys.stdout.flush()


def _again(look: _Look) -> list[EndpointView]:
    while True:
        time.sleep(_INTERVAL_S)
        try:
            return look()
        except ClusterError as error:
            say(f"{error}; trying again")
