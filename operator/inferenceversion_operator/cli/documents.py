"""Manifests from files, folders and stdin: each object with the place it was read from."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from inferenceversion_operator.api.labels import GROUP
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.lines import Lines, check_size, line_of, repeated_keys
from inferenceversion_operator.cli.output import say

KINDS = ("InferenceVersion", "InferenceEndpoint")
_SUFFIXES = (".yaml", ".yml", ".json")
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE):  # type: ignore[misc]
    """Dates stay text: JSON has none, so the API server never sees one."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the base class's way
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in _BASE.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True, slots=True)
class Document:
    """One object of ours."""

    file: str
    obj: Mapping[str, Any]
    lines: Lines = field(repr=False)
    repeated: tuple[tuple[str, int], ...] = ()  # keys that are there twice (path, line); the last one counts

    @property
    def kind(self) -> str:
        return str(self.obj.get("kind"))

    @property
    def name(self) -> str:
        metadata = self.obj.get("metadata")
        return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""

    @property
    def title(self) -> str:
        return f"{self.kind}/{self.name or '(no name)'}"

    def line(self, path: str) -> int:
        """Return the line (from 1) of a field, or of the nearest one around it that is written."""
        return line_of(self.lines, path)


def read_documents(names: Iterable[str]) -> list[Document]:
    """Read every object of our kinds; what else is in the files is skipped with a note.

    Raises:
        UserError: a file can't be read, or is not YAML.
    """
    return [document for name in names for file in _files(name) for document in _read_file(file)]


def read_versions(names: Iterable[str]) -> list[Document]:
    """Read the InferenceVersions alone.

    Raises:
        UserError: as ``read_documents``; or there is none.
    """
    names = list(names)
    found = [document for document in read_documents(names) if document.kind == "InferenceVersion"]
    if not found:
        raise UserError(f"no InferenceVersion in {', '.join(names)}")
    return found


def _files(name: str) -> list[str]:
    path = Path(name)
    if name == "-" or not path.is_dir():
        return [name]
    files = sorted(str(file) for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise UserError(f"{name}: no {', '.join(_SUFFIXES)} file in this folder", ExitCode.USAGE)
    return files


def _read_file(name: str) -> Iterator[Document]:
    text = _text(name)
    label = "<stdin>" if name == "-" else name
    skipped: Counter[str] = Counter()
    for obj, lines, repeated in _objects(label, text):
        if obj.get("kind") in KINDS or str(obj.get("apiVersion")).partition("/")[0] == GROUP:
            yield Document(label, obj, lines, repeated)
        else:
            skipped[str(obj.get("kind", "no kind"))] += 1
    if skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))
        say(f"note: {label}: skipped objects of other kinds: {kinds}")


def _text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}", ExitCode.USAGE) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not text in UTF-8 (byte {error.start})", ExitCode.USAGE) from error


def _objects(label: str, text: str) -> Iterator[tuple[Mapping[str, Any], Lines, tuple[tuple[str, int], ...]]]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            check_size(node)
            repeated = tuple(repeated_keys(node))
            obj = loader.construct_document(node)
            if obj is None:
                continue
            if not isinstance(obj, Mapping):
                raise UserError(f"{label}:{node.start_mark.line + 1}: not an object but {type(obj).__name__}")
            lines = Lines.of(node)
            if isinstance(obj.get("items"), list) and str(obj.get("kind", "")).endswith("List"):
                yield from ((item, lines.item(index), ()) for index, item in enumerate(obj["items"]) if item)
            else:
                yield obj, lines, repeated
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{label}: not YAML: {_told(error)}") from error
    finally:
        loader.dispose()


def _told(error: Exception) -> str:
    """Return the error in one line, with its place."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem or error.context}"
    return " ".join(str(error).split())
