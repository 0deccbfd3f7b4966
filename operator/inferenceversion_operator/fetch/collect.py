"""Blobs of a source into the tree: archives opened, single files named, everything hashed and counted on the way."""

from collections.abc import Iterator
from pathlib import Path

from inferenceversion_operator.api.archive import kind_of
from inferenceversion_operator.fetch.errors import FetchError, Reason, invalid, without_secrets
from inferenceversion_operator.fetch.limits import Budget
from inferenceversion_operator.fetch.plan import Plan
from inferenceversion_operator.fetch.progress import Progress
from inferenceversion_operator.fetch.sources import Blob, Context, source_of
from inferenceversion_operator.fetch.tree import Tree


def collect(plan: Plan, context: Context, tree: Tree, scratch: Path, progress: Progress) -> bool:
    """Fill ``tree`` with the source; say whether it was one single file.

    Args:
        plan: what to get.
        context: how.
        tree: gets the files.
        scratch: a file for archives that can't be read as a stream.
        progress: hears of it.
    """
    kind = kind_of(plan.source)
    single = False
    for blob in source_of(plan)(plan, context):
        chunks = progress.watch(_counted(blob.chunks, context.budget), _label(plan, blob), blob.size)
        if blob.path:
            tree.add(blob.path, chunks, executable=blob.executable)
        elif kind:
            from inferenceversion_operator.fetch.archives import extract  # noqa: PLC0415 - zstd, only where needed

            extract(kind, chunks, tree, scratch)
        else:
            tree.add(_file_name(plan), chunks, executable=blob.executable)
            single = True
    if not tree.files:
        raise invalid(f"{without_secrets(plan.source)} holds no file")
    return single


def _counted(chunks: Iterator[bytes], budget: Budget) -> Iterator[bytes]:
    for chunk in chunks:
        budget.receive(len(chunk))
        yield chunk


def _label(plan: Plan, blob: Blob) -> str:
    return blob.path or without_secrets(plan.source)


def _file_name(plan: Plan) -> str:
    if plan.file_name is None:
        raise FetchError(Reason.PLAN_INVALID, "fetch.json: the source is a single file, but fileName is missing")
    return plan.file_name
