"""Completion by names from the cluster; silent where it can't be asked."""

from collections.abc import Iterator
from contextlib import suppress

import typer

from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.errors import UserError


def complete_endpoint(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the endpoints of the namespace that begin so; none where the cluster can't be asked."""
    return sorted(name for name in _endpoints(ctx) if name.startswith(incomplete))


def complete_version(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the versions of the endpoint that was named."""
    endpoint = ctx.params.get("endpoint")
    found: set[str] = set()
    with suppress(UserError):
        found = {str(version["spec"]["version"]) for version in _cluster(ctx).versions_of(str(endpoint))}
    return sorted(version for version in found if version.startswith(incomplete))


def _endpoints(ctx: typer.Context) -> Iterator[str]:
    with suppress(UserError):
        cluster = _cluster(ctx)
        yield from (endpoint["metadata"]["name"] for endpoint in cluster.endpoints(cluster.namespace))


def _cluster(ctx: typer.Context) -> Cluster:
    params = ctx.params
    return connect(Target(params.get("namespace"), params.get("context"), params.get("kubeconfig")))
