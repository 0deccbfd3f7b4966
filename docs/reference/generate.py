"""Write the reference pages from the CRDs: `python docs/reference/generate.py` (a test sees stale ones)."""  # noqa: INP001

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
CRDS = HERE.parent.parent / "crds"


def page(crd: Mapping[str, Any]) -> str:
    """Return the page of one kind, as Markdown."""
    spec = crd["spec"]
    names = spec["names"]
    (version,) = spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    short = ", ".join(names["shortNames"])
    lines = [
        f"# {names['kind']}",
        "",
        f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}, short name `{short}`.",
        f"Generated from `crds/{crd['metadata']['name'].partition('.')[2]}_{names['plural']}.yaml` by `generate.py`.",
        "",
        schema["description"],
        "",
        *_rules(schema),
    ]
    for part in ("spec", "status"):
        node = schema["properties"][part]
        lines += [f"## {part}", "", node["description"], "", *_rules(node)]
        lines += ["| field | type | default | description |", "|---|---|---|---|", *_rows(node, ""), ""]
    return "\n".join(lines).rstrip() + "\n"


def _rules(node: Mapping[str, Any]) -> list[str]:
    """Return the messages of the rules on the whole node as a list; rules on one field stand beside it."""
    messages = dict.fromkeys(_message(rule) for rule in node.get("x-kubernetes-validations", ()))
    return ["Rules:", "", *(f"- {message}" for message in messages), ""] if messages else []


def _message(rule: Mapping[str, Any]) -> str:
    field = rule.get("fieldPath", "").lstrip(".")
    return f"`{field}`: {rule['message']}" if field else rule["message"]


def _rows(node: Mapping[str, Any], prefix: str) -> Iterator[str]:
    required = node.get("required", ())
    for name, child in node.get("properties", {}).items():
        field = f"{prefix}{name}"
        needed = "**required**" if name in required else _default(child)
        yield f"| `{field}` | {_type(child)} | {needed} | {_cell(child)} |"
        yield from _rows(child, f"{field}.")
        if "items" in child:
            yield from _rows(child["items"], f"{field}[].")


def _cell(node: Mapping[str, Any]) -> str:
    rules = [rule["message"] for rule in node.get("x-kubernetes-validations", ())]
    values = node.get("additionalProperties") or node.get("items") or {}
    rules += [rule["message"] for rule in values.get("x-kubernetes-validations", ())]
    text = " ".join([node["description"], *(f"*Rule:* {message}." for message in dict.fromkeys(rules))])
    return text.replace("|", "\\|").replace("<", "&lt;")


def _type(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if "additionalProperties" in node:
        return f"map of {_type(node['additionalProperties'])}"
    if "items" in node:
        return f"list of {_type(node['items'])}{_bounds(node, 'minItems', 'maxItems', ' items')}"
    if node["type"] == "integer":
        return f"integer{_bounds(node, 'minimum', 'maximum')}"
    return f"{node['type']}{_bounds(node, 'minLength', 'maxLength', ' characters')}"


def _bounds(node: Mapping[str, Any], low: str, high: str, unit: str = "") -> str:
    least, most = node.get(low), node.get(high)
    if most == 2**31 - 1:
        most = None
    if least is None and most is None:
        return ""
    if most is None:
        return f" (at least {least}{unit})"
    return f" (at most {most}{unit})" if least is None else f" ({least} to {most}{unit})"


def _default(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    if default is None or isinstance(default, Mapping):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def pages() -> dict[Path, str]:
    """Return every page by its file."""
    crds = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(CRDS.glob("*.yaml"))]
    return {HERE / f"{crd['spec']['names']['singular']}.md": page(crd) for crd in crds}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, "utf-8")
