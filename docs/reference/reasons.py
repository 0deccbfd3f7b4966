"""The table of all reasons: rows from ``reasons.yaml``, and what the code has, for the test that compares them.

Reasons have no registry: each is written where it is decided. So the code is read here, as a syntax tree, in two ways:
every word in CamelCase that stands as a text of its own (a reason must be one of them, whatever road it takes to the
status), and the calls that spell out a whole condition or Event.
"""

# ruff: noqa: INP001 - used by a script
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
CODE = HERE.parent.parent / "operator" / "inferenceversion_operator"
# What decides and what asks; builders of objects make no conditions.
READ = ("core/*.py", "core/rollout/*.py", "core/gates/*.py", "reconcile/*.py", "adapters/prometheus/answers.py")
READ_TOO = ("fetch/errors.py",)  # an end of fetch becomes a condition
_WORD = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Za-z]*")
HEAD = """\
<!-- Written by docs/reference/generate.py from reasons.yaml: change that, then run it. -->
# Reasons

Every reason that a status of this project or one of its Events can have, what it means and what to do. A test compares
this page with the code. Reasons are for programs and stay as they are; messages may change.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    Attributes:
        of: kind of object, history, Event or gate.
        when: what stands beside the reason: types of conditions with their status, outcome, verdict.
        foreign: somebody else's word, which our code only hands on.
    """

    of: str
    when: tuple[tuple[str, tuple[str, ...]], ...]
    reasons: tuple[str, ...]
    means: str
    todo: str
    foreign: str | None

    def fits(self, kind: str, status: str, reason: str) -> bool:
        """Say whether the row is about a condition of this type and status with this reason."""
        return reason in self.reasons and (kind, (status,)) in self.when


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    intro: str
    rows: tuple[Row, ...]


def sections() -> tuple[Section, ...]:
    """Return what ``reasons.yaml`` says."""
    told = yaml.safe_load((HERE / "reasons.yaml").read_text("utf-8"))
    return tuple(
        Section(part["title"], part["intro"].strip(), tuple(_row(part["of"], row) for row in part["rows"]))
        for part in told
    )


def rows() -> tuple[Row, ...]:
    return tuple(row for section in sections() for row in section.rows)


def _row(of: str, row: dict[str, Any]) -> Row:
    when = tuple((name, _texts(value)) for name, value in row["when"].items())
    return Row(of, when, _texts(row["reason"]), row["means"], row["do"], row.get("from"))


def _texts(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def page() -> str:
    """Return the page, as Markdown."""
    parts = [HEAD]
    for section in sections():
        parts += [f"## {section.title}", "", section.intro, ""]
        parts += ["| | reason | means | what to do |", "|---|---|---|---|", *map(_line, section.rows), ""]
    return "\n".join(parts)


def _line(row: Row) -> str:
    when = "<br>".join(f"{name}&nbsp;{' or '.join(values)}" for name, values in row.when)
    named = [reason if reason.startswith("(") else f"`{reason}`" for reason in row.reasons]
    says = f"Said by {row.foreign}: " if row.foreign else ""
    return f"| {when} | {'<br>'.join(named)} | {says}{row.means} | {row.todo} |"


def words() -> dict[str, str]:
    """Return every CamelCase word that the code has as a text of its own, with the file that has it first."""
    found: dict[str, str] = {}
    for path, tree in _trees(*READ, *READ_TOO):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
                found.setdefault(node.value, str(path.relative_to(CODE)))
    return {reason: "a call of Stalled" for reason, *_ in spelled_out("Stalled") if reason} | found


def spelled_out(call: str) -> set[tuple[str, ...]]:
    """Return the arguments of all calls of ``call``; what is no text of its own is an empty one."""
    calls = (node for _, tree in _trees("**/*.py") for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        tuple(_text(arg) for arg in node.args)
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == call
    }


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _trees(*places: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted({path for place in places for path in CODE.glob(place)}):
        yield path, _parsed(path)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
