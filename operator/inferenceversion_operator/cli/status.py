"""``kubectl iv status``: endpoints and their versions as a tree."""

import json
import sys
import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.completion import complete_endpoint
from inferenceversion_operator.cli.errors import ClusterError, UserError
from inferenceversion_operator.cli.options import AllNamespaces, Context, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, say, show, to_data
from inferenceversion_operator.cli.views.changes import changed_lines
from inferenceversion_operator.cli.views.status import EndpointView, view_endpoint, view_endpoints
from inferenceversion_operator.cli.views.tree import make_tree
from inferenceversion_operator.core.conditions import timestamp

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

    Of a release under way: its phase and step, what it waits for, and what each gate saw, with the bound and the
    verdict. With --watch a terminal shows one picture that moves; elsewhere the tree comes first, then a line for each
    change (with -o json everything anew, as one line).
    """
    cluster = connect(Target(namespace, context, kubeconfig))

    def look() -> list[EndpointView]:
        return _look(cluster, endpoint, all_namespaces=all_namespaces)

    views = look()
    if watch:
        _watch(look, views, output)
        return
    show(views, output, make_tree(views, clock.now()))
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
        with Live(make_tree(views, clock.now()), auto_refresh=False, vertical_overflow="visible") as live:
            while True:
                views = _again(look)
                live.update(make_tree(views, clock.now()), refresh=True)
    _print_all(views, output)
    while True:
        before, views = views, _again(look)
        if output is Format.TABLE:
            _print_lines(changed_lines(before, views))
        elif views != before:
            _print_all(views, output)


def _print_all(views: list[EndpointView], output: Format) -> None:
    if output is Format.JSON:
        print(json.dumps(to_data(views), ensure_ascii=False))
    else:
        if output is Format.YAML:
            print("---")
        show(views, output, make_tree(views, clock.now()))
    sys.stdout.flush()


def _print_lines(lines: list[str]) -> None:
    moment = timestamp(clock.now())
    for line in lines:
        print(f"{moment} {line}")
    sys.stdout.flush()


def _again(look: _Look) -> list[EndpointView]:
    while True:
        time.sleep(_INTERVAL_S)
        try:
            return look()
        except ClusterError as error:
            say(f"{error}; trying again")
