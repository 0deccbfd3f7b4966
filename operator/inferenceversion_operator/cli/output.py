"""Printing: data goes to stdout in the format asked for, talk goes to stderr; no colour where nobody looks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any

import yaml
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

# What is piped is not folded: programs read lines.
_UNFOLDED = 100_000


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def say(message: str, style: str | None = None) -> None:
    """Tell the user something that is not the answer."""
    Console(stderr=True, soft_wrap=True).print(Text(message, style=style or ""))


def show(view: Any, output: Format, table: RenderableType) -> None:
    """Print the answer: the view itself as JSON or YAML, or its picture for people."""
    if output is Format.TABLE:
        if text := rendered(table):
            print(text)
    elif output is Format.JSON:
        print(json.dumps(to_data(view), indent=2, ensure_ascii=False))
    else:
        print(to_yaml(to_data(view)), end="")


def to_yaml(data: Any) -> str:
    """Return YAML in the order of the data, without anchors; text of several lines as a block."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def to_data(view: Any) -> Any:
    """Return a view as JSON has it: camelCase names as in Kubernetes, nothing that is None."""
    if is_dataclass(view) and not isinstance(view, type):
        named = ((field.name, getattr(view, field.name)) for field in fields(view))
        return {_camel_case(name): to_data(value) for name, value in named if value is not None}
    if isinstance(view, Mapping):
        return {str(key): to_data(value) for key, value in view.items()}
    if isinstance(view, StrEnum):
        return view.value
    if isinstance(view, Iterable) and not isinstance(view, str):
        return [to_data(item) for item in view]
    return view


def rendered(table: RenderableType) -> str:
    """Return what a terminal of this kind shows, without blanks at the end of lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNFOLDED
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def columns(heads: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return a table as kubectl prints it; the last column gives way on a narrow terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_edge=False, header_style="bold")
    for head in heads:
        last = head == heads[-1]
        table.add_column(Text(head), no_wrap=not last, overflow="fold" if last else "ellipsis")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class _Dumper(yaml.SafeDumper):
    """Block text for what has lines, and no anchors: kubectl reads them, people don't."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
