"""``kubectl iv verify``: do the files fit the manifest, before anything is uploaded?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from inferenceversion_operator.api.parse import parse_version
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.cli.documents import Document, read_versions
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.graph import read_graph
from inferenceversion_operator.cli.hashes import artifact_hashes
from inferenceversion_operator.cli.options import Files, MoreFiles, Output, filenames
from inferenceversion_operator.cli.output import Format, columns, show
from inferenceversion_operator.cli.valid import require_valid
from inferenceversion_operator.cli.views.checks import Check, Result, check_graph, check_hashes, hashed_parts

EXAMPLES = (
    "kubectl iv verify -f version.yaml --artifact build/news-sentiment",
    "kubectl iv verify -f deploy/ --name news-sentiment-2.4.1 --artifact model.onnx -o json",
)
_STYLES = {Result.OK: "green", Result.FAILED: "bold red", Result.SKIPPED: "dim"}


def command(
    artifact: Annotated[
        Path, typer.Option("--artifact", help="What model.source holds: a folder or a file.", exists=True)
    ],
    files: Files = None,
    more: MoreFiles = None,
    name: Annotated[
        str | None, typer.Option(help="The InferenceVersion, where the files have several.", metavar="NAME")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check files against a manifest: every hash; for format onnx the graph in full, its opset, inputs and outputs."""
    document = _choose(read_versions(filenames(files, more)), name)
    require_valid([document])
    checks = list(_checks(parse_version(document.obj), artifact))
    rows = [(check.check, Text(check.result, _STYLES[check.result]), check.message) for check in checks]
    show(checks, output, columns(("CHECK", "RESULT", "MESSAGE"), rows))
    if any(check.result is Result.FAILED for check in checks):
        raise typer.Exit(int(ExitCode.NO))


def _choose(documents: list[Document], name: str | None) -> Document:
    found = [document for document in documents if name in (None, document.name)]
    if not found:
        raise UserError(f"no InferenceVersion {name}; there are: {', '.join(d.name for d in documents)}")
    if len(found) > 1:
        names = ", ".join(document.name for document in found)
        raise UserError(f"several InferenceVersions, choose one by --name: {names}", ExitCode.USAGE)
    return found[0]


def _checks(version: InferenceVersion, artifact: Path) -> Iterator[Check]:
    yield from check_hashes(version, artifact_hashes(artifact, hashed_parts(version)))
    if version.model.format != "onnx":
        yield Check("graph", Result.SKIPPED, f"only format onnx is looked into, not {version.model.format}")
        return
    graphs = _graphs(version, artifact)
    if not graphs:
        yield Check("onnx", Result.FAILED, f"no .onnx file in {artifact}")
    for path in graphs:
        name = path.name if path == artifact else path.relative_to(artifact).as_posix()
        yield from check_graph(version, read_graph(path, name))


def _graphs(version: InferenceVersion, artifact: Path) -> list[Path]:
    """Return the graphs of the model itself: model.onnx where there is one, else all that are not of a part."""
    if artifact.is_file():
        return [artifact]
    if (artifact / "model.onnx").is_file():
        return [artifact / "model.onnx"]
    parts = [artifact / part.path for part in version.parts.values()]
    return sorted(path for path in artifact.rglob("*.onnx") if not any(path.is_relative_to(part) for part in parts))
