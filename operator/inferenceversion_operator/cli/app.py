"""The commands of ``kubectl iv``: registered here, one line each; known errors become a message and an exit code."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from inferenceversion_operator import __version__
from inferenceversion_operator.cli import (
    abort,
    diff,
    digest,
    hash_path,
    lint,
    pause,
    plan,
    promote,
    render,
    report,
    resume,
    rollback,
    status,
    unpin,
    verify,
    versions,
)
from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.output import say

_EPILOG = (
    "Exit codes: 0 yes; 1 the answer is no (problems, not found, refused, not in time); 2 the command line is wrong or "
    "a file can't be read; 3 the cluster can't be asked. Data goes to stdout, everything else to stderr."
)


class Commands(TyperGroup):
    """The one place that turns known errors into a message and an exit code; whatever else is a bug, with traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            say(f"error: {error}")
            raise typer.Exit(int(error.code)) from error


app = typer.Typer(
    cls=Commands,
    name="kubectl-iv",
    help="Look at, check and move inference versions: releases of a whole inference stack on Kubernetes.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version of this tool.")
    ] = False,
) -> None:
    pass


def _paragraphs(command: Callable[..., None]) -> str:
    """Return a docstring with each paragraph on one line: the terminal's width decides where it is folded."""
    text = inspect.cleandoc(command.__doc__ or "")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


# A command's file has the function ``command`` and ``EXAMPLES``.
ON_CLUSTER = {
    "status": status,
    "versions": versions,
    "report": report,
    "plan": plan,
    "rollback": rollback,
    "promote": promote,
    "abort": abort,
    "unpin": unpin,
    "pause": pause,
    "resume": resume,
}
OFFLINE = {
    "lint": lint,
    "diff": diff,
    "render": render,
    "digest": digest,
    "hash": hash_path,
    "verify": verify,
}
for panel, modules in (("On a cluster", ON_CLUSTER), ("Files, folders or stdin", OFFLINE)):
    for name, module in modules.items():
        epilog = "\n\n".join(("Examples:", *module.EXAMPLES))
        app.command(name, help=_paragraphs(module.command), rich_help_panel=panel, epilog=epilog)(module.command)
