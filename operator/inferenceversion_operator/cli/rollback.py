"""``kubectl iv rollback``: one field, ``spec.version`` of the endpoint, and the word when it is done."""

from dataclasses import dataclass
from typing import Annotated

import typer

from inferenceversion_operator.cli.change import as_text, refuse_if_in_git, wait_until
from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.completion import complete_version
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Force, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, say, show
from inferenceversion_operator.cli.views.move import Move, plan_rollback, previous_version, sentences
from inferenceversion_operator.cli.views.status import EndpointView

EXAMPLES = (
    "kubectl iv rollback news-sentiment 2.4.0",
    "kubectl iv rollback news-sentiment --to-previous --dry-run",
    "kubectl iv rollback news-sentiment 2.4.0 -n news --timeout 30",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done."""

    move: Move
    changed: bool
    serving: bool | None = None  # None: not waited for
    seconds: float | None = None


def command(  # noqa: PLR0913, PLR0917 - options of a command line
    endpoint: Endpoint,
    version: Annotated[
        str | None,
        typer.Argument(
            help="The version (or name of the InferenceVersion) to go to.",
            autocompletion=complete_version,
            metavar="VERSION",
        ),
    ] = None,
    to_previous: Annotated[
        bool, typer.Option("--to-previous", help="Go to the version that was stable before this one.")
    ] = False,
    dry_run: DryRun = False,
    force: Force = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the version serves.")] = True,
    timeout: Annotated[float, typer.Option(help="Seconds to wait.", min=0, metavar="SECONDS")] = 120.0,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Move an endpoint to another version by its name and pin it there; unpin undoes the pin.

    A version that was stable before takes over without shadow and canary, at once if it is warm. Refused (exit code 1)
    where the version does not exist, failed or can't become Ready, and where Argo CD or Flux owns the endpoint: then
    the change to make in Git is printed. --force insists.
    """
    if (version is None) is not to_previous:
        raise UserError("name a VERSION or say --to-previous, one of the two", ExitCode.USAGE)
    cluster = connect(Target(namespace, context, kubeconfig))
    found, versions = cluster.endpoint(endpoint), cluster.versions_of(endpoint)
    move = plan_rollback(found, versions, version or previous_version(found, versions))
    _check(move, force=force)
    if not move.nothing_to_do:
        refuse_if_in_git(found, {"version": move.to}, force=force)
    if dry_run or move.nothing_to_do:
        planned = ["nothing was changed (--dry-run); it would be:", *sentences(move)]
        words = [f"{endpoint} is pinned to {move.to}, and it serves"] if move.nothing_to_do else planned
        show(Outcome(move, changed=False), output, as_text(words))
        return
    for sentence in sentences(move):
        say(sentence)
    cluster.patch_endpoint(endpoint, {"spec": {"version": move.to}})
    _finish(cluster, move, output, timeout if wait else None)


def _check(move: Move, *, force: bool) -> None:
    if move.refusals and not force:
        raise UserError("\n".join((*move.refusals, "--force insists")))
    for refusal in move.refusals:
        say(f"note: {refusal}; going on, as --force says")


def _finish(cluster: Cluster, move: Move, output: Format, timeout: float | None) -> None:
    if timeout is None:
        words = f"endpoint {move.endpoint} is pinned to {move.to}: kubectl iv status {move.endpoint} --watch"
        show(Outcome(move, changed=True), output, as_text([words]))
        return

    def serves(view: EndpointView) -> bool:
        return view.stable == move.to

    def hopeless(view: EndpointView) -> str | None:
        return None if move.refusals else _hopeless(view, move.to)

    took = wait_until(cluster, move.endpoint, serves, hopeless, timeout)
    if took is None:
        show(Outcome(move, changed=True, serving=False), output, as_text([]))
        why = f"{move.to} does not serve after {timeout:g} s; the pin is set (kubectl iv unpin takes it away)"
        raise UserError(f"{why}: kubectl iv status {move.endpoint}")
    say(f"pinned: newer versions wait for kubectl iv unpin {move.endpoint}")
    done = f"{move.to} serves all requests of {move.endpoint}, after {took:.2f} s"
    show(Outcome(move, changed=True, serving=True, seconds=round(took, 3)), output, as_text([done]))


def _hopeless(view: EndpointView, wanted: str) -> str | None:
    """Say why the endpoint won't get there: what is Stalled waits for a person."""
    for version in view.versions:
        if version.version == wanted and version.role == "Failed":
            return f"version {wanted} failed: {version.message}"
    if view.phase == "Stalled":
        return f"endpoint {view.name} is stalled: {view.message}"
    return None
