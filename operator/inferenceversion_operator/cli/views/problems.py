"""What is wrong with manifests, alone and together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inferenceversion_operator.api.lint import lint, lint_together
from inferenceversion_operator.api.parse import parse_version
from inferenceversion_operator.api.problem import Problem
from inferenceversion_operator.api.schema import validate
from inferenceversion_operator.cli.documents import Document
from inferenceversion_operator.core.gates.problems import static_problems

# GitHub's workflow commands take no raw line ends and, in properties, no commas and colons.
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = {**_ESCAPES, ":": "%3A", ",": "%2C"}


class Severity(StrEnum):
    ERROR = "error"  # the API server or the operator will refuse it
    WARNING = "warning"  # it will be taken, and may hurt later


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    file: str
    line: int
    kind: str
    name: str
    field: str
    message: str


def find_problems(documents: Sequence[Document]) -> list[Finding]:
    """Return all that is wrong, by file and line."""
    sound: list[Document] = []
    findings: list[Finding] = []
    for document in documents:
        errors = [_finding(Severity.ERROR, document, p.field, p.message) for p in validate(document.obj)]
        findings += errors or [_finding(Severity.WARNING, document, p.field, p.message) for p in _advice(document)]
        findings += _repeated(document)
        if not errors:
            sound.append(document)
    findings += [*_same_object(documents), *_same_version(sound), *_pins(sound)]
    return sorted(findings, key=lambda f: (f.file, f.line, f.field, f.message))


def as_line(finding: Finding) -> str:
    """Return a finding as compilers print theirs, so that editors can jump there."""
    field = f"{finding.field}: " if finding.field else ""
    what = f"{finding.kind}/{finding.name or '(no name)'}"
    return f"{finding.file}:{finding.line}: {finding.severity}: {what}: {field}{finding.message}"


def as_github(finding: Finding) -> str:
    """Return a finding as a workflow command: GitHub shows it beside the line in the pull request."""
    title = f"{finding.kind}/{finding.name}"
    properties = f"file={_escape(finding.file, _PROPERTY_ESCAPES)},line={finding.line}"
    message = f"{finding.field}: {finding.message}" if finding.field else finding.message
    return f"::{finding.severity} {properties},title={_escape(title, _PROPERTY_ESCAPES)}::{_escape(message, _ESCAPES)}"


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)


def _finding(severity: Severity, document: Document, field: str, message: str, line: int | None = None) -> Finding:
    line = document.line(field) if line is None else line
    return Finding(severity, document.file, line, document.kind, document.name, field, message)


def _advice(document: Document) -> Iterator[Problem]:
    yield from lint(document.obj)
    if document.kind == "InferenceVersion":
        yield from static_problems(parse_version(document.obj))


def _repeated(document: Document) -> Iterator[Finding]:
    for path, line in document.repeated:
        message = "is written twice in the same place, and the last one counts: remove one"
        yield _finding(Severity.ERROR, document, path, message, line)


def _namespace(document: Document) -> str:
    metadata = document.obj.get("metadata")
    return str(metadata.get("namespace", "")) if isinstance(metadata, Mapping) else ""


def _same_object(documents: Iterable[Document]) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        key = (document.kind, _namespace(document), document.name)
        before = first.setdefault(key, document)
        if before is not document and document.name:
            message = f"the same object is in {before.file}:{before.line('')} already: the last one applied wins"
            yield _finding(Severity.ERROR, document, "metadata.name", message)


def _same_version(documents: Iterable[Document]) -> Iterator[Finding]:
    """Yield the versions whose number another object of the endpoint has; the operator refuses the second."""
    taken: defaultdict[tuple[str, str], list[Document]] = defaultdict(list)
    for document in documents:
        if document.kind == "InferenceVersion":
            others = taken[_namespace(document), document.obj["spec"]["endpoint"]]
            problems = lint_together([*(other.obj for other in others), document.obj])
            yield from (_finding(Severity.ERROR, document, p.field, p.message) for p in problems)
            if not problems:
                others.append(document)


def _pins(documents: Sequence[Document]) -> Iterator[Finding]:
    """Yield the pins to versions that are not among the files, where the files have versions of that endpoint."""
    known: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for document in documents:
        if document.kind == "InferenceVersion":
            known[_namespace(document), document.obj["spec"]["endpoint"]].add(document.obj["spec"]["version"])
    for document in documents:
        pin = (document.obj.get("spec") or {}).get("version")
        if document.kind == "InferenceEndpoint" and pin:
            there = known[_namespace(document), document.name]
            if pin not in there:
                has = f"they have {', '.join(sorted(there))}" if there else "they have no version of this endpoint"
                message = f"pins {pin}, which is not among these files ({has}): it must be on the cluster already"
                yield _finding(Severity.WARNING, document, "spec.version", message)
