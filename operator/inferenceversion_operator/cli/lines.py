"""Where in a YAML file a field stands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_NODES_LIMIT = 200_000  # of one document; aliases of aliases grow without bound


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one object: its own and, by key or index, those of what is in it."""

    line: int  # from 1
    children: dict[str, "Lines"] = field(default_factory=dict)

    @classmethod
    def of(cls, node: yaml.Node, line: int | None = None) -> "Lines":
        """Return the lines of a composed node; of a field it is the line of its key."""
        children: dict[str, Lines] = {}
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                children[str(key.value)] = cls.of(value, key.start_mark.line + 1)
        elif isinstance(node, yaml.SequenceNode):
            children = {str(index): cls.of(item) for index, item in enumerate(node.value)}
        return cls(line or node.start_mark.line + 1, children)

    def item(self, index: int) -> "Lines":
        """Return the lines of one item of a List."""
        return self.children["items"].children[str(index)]


def line_of(lines: Lines, path: str) -> int:
    """Return the line of a path such as ``spec.contract.inputs[0].name``, or of the nearest part of it that exists."""
    for match in _STEP.finditer(path):
        child = lines.children.get(match.group(1) or match.group(2) or "")
        if child is None:
            break
        lines = child
    return lines.line


def repeated_keys(node: yaml.Node, path: str = "") -> Iterator[tuple[str, int]]:
    """Yield path and line of each key that the same mapping has already."""
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from repeated_keys(item, f"{path}[{index}]")
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else str(key.value)
            if str(key.value) in seen and key.value != "<<":
                yield below, key.start_mark.line + 1
            seen.add(str(key.value))
            yield from repeated_keys(value, below)


def check_size(node: yaml.Node) -> None:
    """Refuse a document that its aliases blow up, before anything walks it.

    Raises:
        ValueError: it is too large, or it holds itself.
    """
    count, stack = 0, [node]
    while stack:
        count += 1
        if count > _NODES_LIMIT:
            raise ValueError(f"line {node.start_mark.line + 1}: more than {_NODES_LIMIT} values: aliases of aliases?")
        current = stack.pop()
        if isinstance(current, yaml.MappingNode):
            stack += [value for _, value in current.value]
        elif isinstance(current, yaml.SequenceNode):
            stack += current.value
