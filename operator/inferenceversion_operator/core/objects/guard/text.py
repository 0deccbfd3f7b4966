"""The bootstrap as YAML: PyYAML needs 60 ms for one, this 2 ms, and a thousand versions are a thousand of them.

Every string is a JSON string, which YAML reads as it stands: no value can end early. What fits on a line stays there.
"""

import json
from collections.abc import Iterable
from typing import Any

_LINE = 140


def to_yaml(config: dict[str, Any]) -> str:
    """Return the config as YAML, keys in the order in which they were given.

    >>> print(to_yaml({"admin": {"port": 1}, "names": ["x" * 70, "y" * 70]}), end="")
    admin: {"port": 1}
    names:
    - "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    - "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
    """
    lines = [line for key, value in config.items() for line in _member(key, _render(value), value)]
    return "\n".join(lines) + "\n"


def _render(node: Any) -> list[str]:
    """Return the node as one line of JSON if that is short, else as lines of YAML."""
    if isinstance(node, dict):
        members = {key: _render(value) for key, value in node.items()}
        short = _one_line("{}", [f"{json.dumps(key)}: {lines[0]}" for key, lines in members.items()], members.values())
        return short or [line for key, lines in members.items() for line in _member(key, lines, node[key])]
    if isinstance(node, list):
        items = [_render(item) for item in node]
        short = _one_line("[]", [lines[0] for lines in items], items)
        return short or [line for lines in items for line in _item(lines)]
    return [json.dumps(node)]


def _one_line(brackets: str, parts: list[str], children: Iterable[list[str]]) -> list[str]:
    if any(len(lines) > 1 for lines in children):
        return []
    line = f"{brackets[0]}{', '.join(parts)}{brackets[1]}"
    return [line] if len(line) <= _LINE or not parts else []


def _member(key: str, lines: list[str], value: Any) -> list[str]:
    name = key if key.isidentifier() else json.dumps(key)
    if len(lines) == 1 and not _is_block(lines[0], value):
        return [f"{name}: {lines[0]}"]
    indent = "" if isinstance(value, list) else "  "
    return [f"{name}:", *(indent + line for line in lines)]


def _item(lines: list[str]) -> list[str]:
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def _is_block(line: str, value: Any) -> bool:
    """Say whether the only line of a mapping or a list is YAML's own, not JSON in brackets."""
    return isinstance(value, (dict, list)) and not line.startswith(("{", "["))
