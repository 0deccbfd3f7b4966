"""``kubectl iv diff``: what differs between two versions, in files or on the cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.documents import read_versions
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Context, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, show
from inferenceversion_operator.cli.valid import require_valid
from inferenceversion_operator.cli.views.differences import Change, Differences, compare

EXAMPLES = (
    "kubectl iv diff news-sentiment-2.4.0 news-sentiment-2.4.1",
    "kubectl iv diff old.yaml new.yaml -o json",
    "kubectl iv diff news-sentiment-2.4.0 versions.yaml#news-sentiment-2.4.1   (what is there and what will be)",
)
_Side = Annotated[
    str, typer.Argument(help="FILE, FILE#NAME or - (stdin); else the name of an InferenceVersion on the cluster.")
]
_UNSET = "(unset)"


def command(
    a: _Side,
    b: _Side,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what differs between two versions, field by field; exit code 0: same digest, 1: another one."""
    target = Target(namespace, context, kubeconfig)
    cluster = None if all(_is_file(side) for side in (a, b)) else connect(target)
    differences = compare(_read(a, cluster), _read(b, cluster))
    show(differences, output, Text("\n").join(_lines(differences)))
    if not differences.same_digest:
        raise typer.Exit(int(ExitCode.NO))


def _is_file(side: str) -> bool:
    """Say whether a file is meant: it is there, or nothing but a file is written so."""
    path = side.partition("#")[0]
    return path == "-" or "/" in path or path.endswith((".yaml", ".yml", ".json")) or Path(path).exists()


def _read(side: str, cluster: Cluster | None) -> Any:
    if cluster and not _is_file(side):
        return cluster.version(side)
    path, _, name = side.partition("#")
    documents = read_versions([path])
    if name:
        documents = [d for d in documents if name in (d.name, (d.obj.get("spec") or {}).get("version"))]
    if len(documents) != 1:
        what = f"no InferenceVersion {name}" if name and not documents else f"{len(documents)} InferenceVersions"
        raise UserError(f"{path}: {what}: choose one by {path}#NAME", ExitCode.NO if name else ExitCode.USAGE)
    require_valid(documents)
    return documents[0].obj


def _lines(differences: Differences) -> Iterator[Text]:
    a, b = differences.a, differences.b
    if differences.same_digest:
        yield Text(f"same digest: {a.digest}")
    else:
        yield Text.assemble("digest: ", (a.digest, "red"), " -> ", (b.digest, "green"))
    for group in differences.parts:
        yield Text(f"{group.part}:", "bold")
        width = max(len(change.field) for change in group.changes)
        yield from (_line(change, width) for change in group.changes)


def _line(change: Change, width: int) -> Text:
    told = (_value(change.a), "red"), " -> ", (_value(change.b), "green")
    return Text.assemble(f"  {change.field:<{width}}  ", *told, "" if change.counts else "   (not in the digest)")


def _value(value: Any) -> str:
    if value is None:
        return _UNSET
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value)
