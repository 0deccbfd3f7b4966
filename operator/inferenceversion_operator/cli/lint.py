"""``kubectl iv lint``: everything that is wrong with manifests, before a cluster sees them."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from inferenceversion_operator.cli.documents import read_documents
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Files, MoreFiles, filenames
from inferenceversion_operator.cli.output import Format, say, show
from inferenceversion_operator.cli.views.problems import Severity, as_github, as_line, find_problems

EXAMPLES = (
    "kubectl iv lint -f deploy/",
    "kubectl iv lint -f version.yaml endpoint.yaml --strict",
    "kubectl iv lint -f deploy/ -o github   (annotations in a workflow of GitHub)",
)


class LintFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    GITHUB = "github"


def command(
    files: Files = None,
    more: MoreFiles = None,
    output: Annotated[LintFormat, typer.Option("--output", "-o", help="Form of the answer.")] = LintFormat.TABLE,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
) -> None:
    """Check manifests as the API server and the operator will, and warn of what will hurt later.

    Errors end with exit code 1: what the API server refuses (types, bounds, unknown fields, rules), keys that are
    there twice, two objects with the same version of an endpoint. Warnings do so with --strict only.
    """
    documents = read_documents(filenames(files, more))
    if not documents:
        raise UserError(f"no InferenceVersion or InferenceEndpoint in {', '.join(filenames(files, more))}")
    findings = find_problems(documents)
    if output is LintFormat.GITHUB:
        lines = "\n".join(as_github(finding) for finding in findings)
        print(lines, end="\n" if lines else "")
    elif findings or output is not LintFormat.TABLE:
        show(findings, Format(output.value), Text("\n".join(as_line(finding) for finding in findings)))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    say(f"{_count(len(documents), 'object')}: {_count(errors, 'error')}, {_count(warnings, 'warning')}")
    if errors or (strict and findings):
        raise typer.Exit(int(ExitCode.NO))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
