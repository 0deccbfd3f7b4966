"""``kubectl iv abort``: the end of a release; stable gets all requests back."""

from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.ask import Candidate, Timeout, Wait, ask
from inferenceversion_operator.cli.cluster import Target, connect
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format
from inferenceversion_operator.cli.views.wish import plan_abort
from inferenceversion_operator.core.conditions import timestamp

EXAMPLES = ("kubectl iv abort news-sentiment", "kubectl iv abort news-sentiment 2.4.2 --dry-run")


def command(  # noqa: PLR0913, PLR0917 - options of a command line
    endpoint: Endpoint,
    version: Candidate = None,
    dry_run: DryRun = False,
    wait: Wait = True,
    timeout: Timeout = 60.0,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """End the release that is under way, in any phase: stable gets all requests back at once.

    The version is not tried again by itself. Works while the endpoint is paused, too. Needs the right to patch the
    InferenceEndpoint; who asked is written to status.history. Exit code 1: there is nothing to abort, or the operator
    did not act in time.
    """
    cluster = connect(Target(namespace, context, kubeconfig))
    found, versions = cluster.endpoint(endpoint), cluster.versions_of(endpoint)
    wish = plan_abort(found, versions, version, by=cluster.whoami(), at=timestamp(clock.now()))
    ask(cluster, found, wish, output, timeout if wait else None, dry_run=dry_run)
