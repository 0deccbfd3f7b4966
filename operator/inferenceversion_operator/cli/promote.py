"""``kubectl iv promote``: a person's yes to the step that a release is in, or to all of them."""

from typing import Annotated

import click
import typer

from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.ask import Candidate, Timeout, Wait, ask
from inferenceversion_operator.cli.cluster import Target, connect
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, say
from inferenceversion_operator.cli.views.wish import Wish, plan_promote
from inferenceversion_operator.core.conditions import timestamp

EXAMPLES = (
    "kubectl iv promote news-sentiment",
    "kubectl iv promote news-sentiment 2.4.2 --no-wait",
    "kubectl iv promote news-sentiment 2.4.2 --skip-steps --yes   (a fix that can't wait)",
)


def command(  # noqa: PLR0913, PLR0917 - options of a command line
    endpoint: Endpoint,
    version: Candidate = None,
    skip_steps: Annotated[
        bool, typer.Option("--skip-steps", help="All requests as soon as it is Ready; no gate is asked any more.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask whether --skip-steps is meant.")] = False,
    dry_run: DryRun = False,
    wait: Wait = True,
    timeout: Timeout = 60.0,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """End the step that the candidate is in: the next one begins, after the last one it gets all requests.

    It is a yes to the step that you see: of two people who ask at the same time, the second one skips nothing. A step
    with an approval waits for it; any other step may be ended early. The gates are asked anew in the next step. Needs
    the right to patch the InferenceEndpoint; who asked is written to status.history. Exit code 1: there is nothing to
    promote, or the operator did not act in time.
    """
    cluster = connect(Target(namespace, context, kubeconfig))
    found, versions = cluster.endpoint(endpoint), cluster.versions_of(endpoint)
    by, at = cluster.whoami(), timestamp(clock.now())
    wish = plan_promote(found, versions, version, skip_steps=skip_steps, by=by, at=at)
    if skip_steps and not (yes or dry_run):
        _confirm(wish)
    ask(cluster, found, wish, output, timeout if wait else None, dry_run=dry_run)


def _confirm(wish: Wish) -> None:
    for note in wish.notes:
        say(note)
    try:
        meant = typer.confirm(f"skip the steps of {wish.version}?", err=True)
    except click.Abort:
        meant = False
    if not meant:
        raise UserError("nothing was asked for: say yes, or --yes", ExitCode.NO)
