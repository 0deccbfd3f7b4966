"""``kubectl iv versions``: the versions of one endpoint as a table."""

from datetime import datetime

from rich.text import Text

from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.cluster import Target, connect
from inferenceversion_operator.cli.options import Context, Endpoint, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, columns, say, show
from inferenceversion_operator.cli.views.age import age
from inferenceversion_operator.cli.views.status import VersionView, short_digest, view_endpoint

EXAMPLES = ("kubectl iv versions news-sentiment", "kubectl iv versions news-sentiment -n news -o json")
_HEADS = ("VERSION", "ROLE", "WEIGHT", "READY", "DIGEST", "AGE", "NAME", "REASON")


def command(
    endpoint: Endpoint,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """List the versions of an endpoint, the highest first; * marks the pin."""
    cluster = connect(Target(namespace, context, kubeconfig))
    views = view_endpoint(cluster.endpoint(endpoint), cluster.versions_of(endpoint)).versions
    now = clock.now()
    show(views, output, columns(_HEADS, [_row(view, now) for view in views]) if views else Text())
    if not views and output is Format.TABLE:
        say(f"endpoint {endpoint} has no versions")


def _row(view: VersionView, now: datetime) -> tuple[str, ...]:
    return (
        view.version + ("*" if view.pinned else ""),
        view.role,
        f"{view.weight} %",
        f"{view.ready_replicas}/{view.replicas}",
        short_digest(view.digest),
        age(view.created, now),
        view.name,
        view.reason,
    )
