"""What commands other than lint need to know of a manifest: that the API server would take it."""

from collections.abc import Iterable

from inferenceversion_operator.api.schema import validate
from inferenceversion_operator.cli.documents import Document
from inferenceversion_operator.cli.errors import UserError

_SHOWN = 5


def require_valid(documents: Iterable[Document]) -> None:
    """Refuse what the operator would never see.

    Raises:
        UserError: names file, line and field of the first problems.
    """
    found = [
        f"{document.file}:{document.line(problem.field)}: {document.title}: {problem}"
        for document in documents
        for problem in validate(document.obj)
    ]
    if found:
        more = f"\n... and {len(found) - _SHOWN} more: kubectl iv lint" if len(found) > _SHOWN else ""
        raise UserError("the API server would not take this:\n" + "\n".join(found[:_SHOWN]) + more)
