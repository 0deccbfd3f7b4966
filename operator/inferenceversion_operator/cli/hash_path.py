"""``kubectl iv hash``: weightHash and configHash of files, ready to paste."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.hashes import WEIGHTS, artifact_hashes
from inferenceversion_operator.cli.options import Output
from inferenceversion_operator.cli.output import Format, say, show, to_yaml

EXAMPLES = (
    "kubectl iv hash model.onnx",
    "kubectl iv hash build/news-sentiment --preprocessor preprocessor --postprocessor postprocessor",
)
_Part = Annotated[
    str | None, typer.Option(help="Folder of this part below PATH; it gets a configHash of its own.", metavar="PATH")
]
_NAMES = ("preprocessor", "postprocessor")


def command(
    path: Annotated[
        Path, typer.Argument(help="What model.source will hold: a folder or a file.", exists=True, metavar="PATH")
    ],
    preprocessor: _Part = None,
    postprocessor: _Part = None,
    output: Output = Format.TABLE,
) -> None:
    """Print the hashes of a model's files as a manifest wants them (docs/architecture.md says how they are made)."""
    asked = dict(zip(_NAMES, (preprocessor, postprocessor), strict=True))
    parts = {name: part.strip("/") for name, part in asked.items() if part}
    hashes = artifact_hashes(path, parts)
    view: dict[str, Any] = {"model": {"weightHash": hashes[WEIGHTS]}}
    for name, part in parts.items():
        found = hashes[f"{name}.configHash"]
        if found is None:
            raise UserError(f"--{name}: there is no {part} in {path}")
        view[name] = {**({} if part == name else {"path": part}), "configHash": found}
    show(view, output, Text(to_yaml(view).rstrip("\n")))
    for name in _NAMES:
        if name not in parts and (path / name).is_dir():
            say(f"note: {name}/ counts to weightHash: if the manifest gives it a configHash, add --{name} {name}")
