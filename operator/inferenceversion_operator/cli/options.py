"""Options that commands share, each described once."""

from pathlib import Path
from typing import Annotated

import typer

from inferenceversion_operator.cli.completion import complete_endpoint
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.output import Format

Files = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", help="File, folder or - (stdin) with manifests; may be repeated.", metavar="FILE"),
]
MoreFiles = Annotated[list[str] | None, typer.Argument(help="The same without -f.", metavar="FILE")]
Output = Annotated[Format, typer.Option("--output", "-o", help="Form of the answer.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Namespace; that of the context where unset.", metavar="NAME")
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Every namespace.")]
Context = Annotated[
    str | None,
    typer.Option("--context", help="Context of the kubeconfig; the current one where unset.", metavar="NAME"),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option("--kubeconfig", help="Kubeconfig; $KUBECONFIG or ~/.kube/config where unset.", metavar="FILE"),
]
Endpoint = Annotated[str, typer.Argument(help="The endpoint.", autocompletion=complete_endpoint, metavar="ENDPOINT")]
Force = Annotated[bool, typer.Option("--force", help="Do it although there is something against it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]


def filenames(files: list[str] | None, more: list[str] | None) -> list[str]:
    """Return all files of a command line.

    Raises:
        UserError: there is none, or stdin is named twice.
    """
    names = [*(files or ()), *(more or ())]
    if not names:
        raise UserError("name a file, a folder or - (stdin)", ExitCode.USAGE)
    if names.count("-") > 1:
        raise UserError("- (stdin) can be read only once", ExitCode.USAGE)
    return names
