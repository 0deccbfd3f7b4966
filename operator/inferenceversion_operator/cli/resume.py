"""``kubectl iv resume``: undo ``pause``."""

from inferenceversion_operator.cli.change import as_text
from inferenceversion_operator.cli.cluster import Target, connect
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Force, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, show
from inferenceversion_operator.cli.pause import set_paused

EXAMPLES = ("kubectl iv resume news-sentiment",)


def command(
    endpoint: Endpoint,
    dry_run: DryRun = False,
    force: Force = False,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Let a paused endpoint move on."""
    cluster = connect(Target(namespace, context, kubeconfig))
    view = set_paused(cluster, endpoint, paused=False, dry_run=dry_run, force=force)
    words = "is not paused" if not view.changed else "would move on" if dry_run else "moves on"
    show(view, output, as_text([f"endpoint {endpoint} {words}"]))
