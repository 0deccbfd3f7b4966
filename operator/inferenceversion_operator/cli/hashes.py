"""The hashes of an artifact's files (``api.content_hash``), and what keeps it from having any, told to the user."""

from collections.abc import Mapping
from pathlib import Path

from inferenceversion_operator.api.archive import Kind
from inferenceversion_operator.api.content_hash import IrregularFileError, hash_file, hash_tree
from inferenceversion_operator.cli.errors import ExitCode, UserError

WEIGHTS = "model.weightHash"


def artifact_hashes(artifact: Path, parts: Mapping[str, str]) -> dict[str, str | None]:
    """Return the hashes by the field of the manifest that has them; None: there is no such part.

    Args:
        artifact: what ``model.source`` holds, a folder or a file.
        parts: path by name of the parts that have a hash of their own.

    Raises:
        UserError: it can't be read, is an archive, or holds what has no hash (links, pipes, devices).
    """
    if artifact.is_file() and artifact.name.lower().endswith(tuple(Kind)):
        raise UserError(f"{artifact} is an archive, and its hash is that of what is inside: unpack it, name the folder")
    try:
        weights = hash_tree(artifact, parts.values()) if artifact.is_dir() else hash_file(artifact)
        return {WEIGHTS: weights, **{f"{name}.configHash": _part(artifact / path) for name, path in parts.items()}}
    except IrregularFileError as error:
        where = artifact / error.path
        raise UserError(f"{where} is neither a regular file nor a folder (a link?): fetch would refuse it") from error
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}", ExitCode.USAGE) from error


def _part(path: Path) -> str | None:
    if path.is_dir():
        return hash_tree(path)
    return hash_file(path) if path.is_file() else None
