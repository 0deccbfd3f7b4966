"""What ``promote`` and ``abort`` share: one annotation on the endpoint, and what the operator makes of it."""

from dataclasses import dataclass
from typing import Annotated

import typer

from inferenceversion_operator.api.labels import ANNOTATION_ACTION
from inferenceversion_operator.cli.change import as_text
from inferenceversion_operator.cli.cluster import Cluster
from inferenceversion_operator.cli.completion import complete_version
from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.output import Format, say, show
from inferenceversion_operator.cli.views.answer import Answer, answer_to
from inferenceversion_operator.cli.views.wish import Wish
from inferenceversion_operator.cli.wait import Object, Seen, Waited, Waiting, silence, wait

Candidate = Annotated[
    str | None,
    typer.Argument(
        help="The version (or name of the InferenceVersion); the candidate where unset.",
        autocompletion=complete_version,
        metavar="VERSION",
    ),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the operator acted, and say what came of it.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait.", min=0, metavar="SECONDS")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked and what came of it.

    Attributes:
        changed: the annotation was written.
        answer: None: not waited for.
    """

    wish: Wish
    changed: bool
    answer: Answer | None = None
    seconds: float | None = None


def ask(
    cluster: Cluster, endpoint: Object, wish: Wish, output: Format, timeout: float | None, *, dry_run: bool
) -> None:
    """Write the wish, wait for the operator, say what came of it.

    Args:
        endpoint: as it was when the wish was made.
        timeout: in seconds; None: don't wait.

    Raises:
        UserError: the operator did not act in time, or it was about nothing.
    """
    if dry_run:
        lines = ["nothing was changed (--dry-run); it would be:", *wish.notes]
        show(Asked(wish, changed=False), output, as_text(lines))
        return
    for note in wish.notes:
        say(note)
    cluster.patch_endpoint(wish.endpoint, {"metadata": {"annotations": {ANNOTATION_ACTION: wish.annotation}}})
    if timeout is None:
        words = f"asked: {wish.annotation}: kubectl iv status {wish.endpoint} --watch"
        show(Asked(wish, changed=True), output, as_text([words]))
        return
    waited = wait(cluster, wish.endpoint, _until_answered(wish, endpoint), timeout)
    last = waited.last
    answer = answer_to(wish, endpoint, last.endpoint, last.versions) if last else None
    _tell(wish, answer, waited, output, timeout)


def _until_answered(wish: Wish, before: Object) -> Waiting:
    def answer(seen: Seen) -> Answer | None:
        return answer_to(wish, before, seen.endpoint, seen.versions)

    def done(seen: Seen) -> bool:
        found = answer(seen)
        return found is not None and found.final

    return Waiting(
        heard=lambda seen: answer(seen) is not None,
        done=done,
        hopeless=lambda _: None,
        tell=lambda seen: f"{seen.view.reason}: {seen.view.message}",
    )


def _tell(wish: Wish, answer: Answer | None, waited: Waited, output: Format, timeout: float) -> None:
    seconds = None if waited.seconds is None else round(waited.seconds, 3)
    words = (
        [f"{answer.message}, after {seconds:.2f} s"] if answer and seconds is not None and _good(wish, answer) else []
    )
    show(Asked(wish, changed=True, answer=answer, seconds=seconds), output, as_text(words))
    if answer is None:
        raise UserError(f"asked: {wish.annotation}, but {silence(timeout)}")
    if not answer.final:
        raise UserError(f"{answer.message}; not within {timeout:g} s: kubectl iv status {wish.endpoint}")
    if not _good(wish, answer):
        raise UserError(answer.message)


def _good(wish: Wish, answer: Answer) -> bool:
    return answer.what in (("Aborted",) if wish.verb == "abort" else ("Promoted", "MovedOn"))
