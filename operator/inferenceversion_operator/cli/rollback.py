"""``kubectl iv rollback``: one field, ``spec.version`` of the endpoint, and the word when it is done."""

from dataclasses import dataclass
from typing import Annotated

import typer

from inferenceversion_operator.cli.change import as_text, refuse_if_in_git
from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.completion import complete_version
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Force, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, say, show
from inferenceversion_operator.cli.views.move import Move, plan_rollback, previous_version, sentences
from inferenceversion_operator.cli.views.status import EndpointView, State
from inferenceversion_operator.cli.wait import Seen, Waited, Waiting, silence, wait

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
    where the version failed or can't become Ready, and where Argo CD or Flux owns the endpoint: then the change to make
    in Git is printed. --force insists. A version that does not exist, or is being deleted, is refused in any case.
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
    if move.impossible:
        raise UserError("\n".join(move.impossible))
    if move.refusals and not force:
        raise UserError("\n".join((*move.refusals, "--force insists")))
    for refusal in move.refusals:
        say(f"note: {refusal}; going on, as --force says")


def _finish(cluster: Cluster, move: Move, output: Format, timeout: float | None) -> None:
    if timeout is None:
        words = f"endpoint {move.endpoint} is pinned to {move.to}: kubectl iv status {move.endpoint} --watch"
        show(Outcome(move, changed=True), output, as_text([words]))
        return
    waited = wait(cluster, move.endpoint, _until_it_serves(move), timeout)
    if waited.seconds is None:
        show(Outcome(move, changed=True, serving=False), output, as_text([]))
        raise UserError(_too_late(move, waited, timeout))
    say(f"pinned: newer versions wait for kubectl iv unpin {move.endpoint}")
    done = f"{move.to} serves all requests of {move.endpoint}, after {waited.seconds:.2f} s"
    show(Outcome(move, changed=True, serving=True, seconds=round(waited.seconds, 3)), output, as_text([done]))


def _until_it_serves(move: Move) -> Waiting:
    def hopeless(seen: Seen) -> str | None:
        return _hopeless(seen.view, move.to, insists=bool(move.refusals))

    return Waiting(
        heard=lambda seen: seen.view.up_to_date,
        done=lambda seen: seen.view.up_to_date and seen.view.stable == move.to,
        hopeless=hopeless,
        tell=lambda seen: _tell(seen.view, move.to),
    )


def _too_late(move: Move, waited: Waited, timeout: float) -> str:
    undo = f"the pin is set (kubectl iv unpin {move.endpoint} takes it away)"
    if not waited.heard:
        return f"{undo}, but {silence(timeout)}"
    why = f": {_tell(waited.last.view, move.to)}" if waited.last else ""
    return f"{move.to} does not serve after {timeout:g} s{why}; {undo}: kubectl iv status {move.endpoint}"


def _tell(view: EndpointView, wanted: str) -> str:
    """Say what keeps the version from serving: itself, else what the endpoint says."""
    for version in view.versions:
        if version.version == wanted and version.state is not State.CURRENT:
            return f"version {wanted}: {version.reason}: {version.message}"
    return f"{view.reason}: {view.message}"


def _hopeless(view: EndpointView, wanted: str, *, insists: bool) -> str | None:
    """Say why the endpoint won't get there: what is Stalled waits for a person."""
    if not view.up_to_date:
        return None
    for version in view.versions if not insists else ():
        if version.version == wanted and version.role == "Failed":
            return f"version {wanted} failed: {version.message}"
    if view.phase == "Stalled":
        return f"endpoint {view.name} is stalled: {view.message}"
    return None
