"""``kubectl iv digest``: the identity of a snapshot, as the operator computes it."""

from dataclasses import dataclass

from rich.text import Text

from inferenceversion_operator.api.digest import snapshot_digest
from inferenceversion_operator.cli.documents import read_versions
from inferenceversion_operator.cli.options import Files, MoreFiles, Output, filenames
from inferenceversion_operator.cli.output import Format, show
from inferenceversion_operator.cli.valid import require_valid

EXAMPLES = (
    "kubectl iv digest -f version.yaml",
    "kubectl get iv news-sentiment-2.4.0 -o yaml | kubectl iv digest -f -",
)


@dataclass(frozen=True, slots=True)
class DigestView:
    file: str
    name: str
    endpoint: str
    version: str
    digest: str


def command(files: Files = None, more: MoreFiles = None, output: Output = Format.TABLE) -> None:
    """Print the digest of each snapshot: status.snapshotDigest and the header x-inference-digest will say the same."""
    documents = read_versions(filenames(files, more))
    require_valid(documents)
    views = [
        DigestView(
            file=document.file,
            name=document.name,
            endpoint=document.obj["spec"]["endpoint"],
            version=document.obj["spec"]["version"],
            digest=snapshot_digest(document.obj["spec"]),
        )
        for document in documents
    ]
    show(views, output, Text("\n".join(f"{view.digest}  {view.name}" for view in views)))
