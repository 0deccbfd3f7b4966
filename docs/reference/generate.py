"""Write the reference pages: ``python docs/reference/generate.py`` (tests see stale ones).

The two kinds come from ``crds/``, the reasons from ``reasons.yaml`` (see ``reasons.py``).
"""

# ruff: noqa: INP001 - a script
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "operator")]

from docs.reference import reasons  # noqa: E402 - found by the line above
from inferenceversion_operator.api.digest import EXCLUDED  # noqa: E402

Node = Mapping[str, Any]

# What numbers count, by the name of the field; a number that is not here is refused, so that none is without.
UNITS = {
    "behavior.scaleDown.policies[].value": "pods or percent",
    "behavior.scaleUp.policies[].value": "pods or percent",
    "count": "copies of the model",
    "generation": "generation",
    "history": "entries",
    "limits": "cores, bytes or pieces",
    "maxConcurrency": "requests in a pod",
    "maxBatchSize": "requests in a batch",
    "maxDrift": "PSI, decimal number in quotes",
    "maxFeatureCount": "elements in a request",
    "maxInconclusive": "intervals",
    "maxLatencyRatio": "times stable's, decimal number in quotes",
    "maxReplicas": "pods",
    "maxRequestSize": "bytes",
    "minReplicas": "pods",
    "minRequests": "requests",
    "observedGeneration": "generation",
    "opset": "opset",
    "percent": "percent",
    "periodSeconds": "seconds",
    "port": "port",
    "preferredBatchSizes": "requests in a batch",
    "readyReplicas": "pods",
    "replicas": "pods",
    "requests": "cores, bytes or pieces",
    "shape": "elements",
    "stabilizationWindowSeconds": "seconds",
    "step": "index from 0",
    "targetQPS": "requests per second and pod",
    "tolerationSeconds": "seconds",
    "warm": "versions",
    "weight": "percent",
}
# Texts that are one, by what the message of their rule says.
SPELLINGS = {
    "not a duration": "duration in h, m, s or ms",
    "write a share": "percent",
    "write a decimal number": "decimal number in quotes",
    "64 lower-case hex digits": "sha256: and 64 hex digits",
}
WHO = {
    "InferenceVersion": (
        "**change**: *never* is the snapshot. The API server refuses a change of it: apply a new InferenceVersion "
        "instead. *never, no digest* is as immutable, but does not count for `status.snapshotDigest`: it says where "
        "something comes from or is placed, not what runs. *any time* may change while the version serves."
    ),
    "InferenceEndpoint": (
        "**change**: every field may change at any time, by whoever may patch the InferenceEndpoint. While releases "
        "of the endpoint are owned by Git, change it there."
    ),
}


def page(crd: Node) -> str:
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
    wanted, seen = (schema["properties"][part] for part in ("spec", "status"))
    frozen = _frozen(wanted)
    lines += ["## spec", "", wanted["description"], "", *_rules(wanted), WHO[names["kind"]], ""]
    lines += ["| field | type | unit | default | change | description |", "|---|---|---|---|---|---|"]
    lines += [_wanted_row(row, frozen) for row in _fields(wanted, "")]
    lines += ["", "## status", "", f"{seen['description']} Changed by nobody else.", ""]
    lines += ["| field | type | unit | description |", "|---|---|---|---|", *map(_seen_row, _fields(seen, ""))]
    return "\n".join(lines) + "\n"


def _rules(node: Node) -> list[str]:
    """Return the messages of the rules on the whole node as a list; rules on one field stand beside it."""
    messages = dict.fromkeys(_message(rule) for rule in node.get("x-kubernetes-validations", ()))
    return ["Rules:", "", *(f"- {message}" for message in messages), ""] if messages else []


def _message(rule: Node) -> str:
    field = rule.get("fieldPath", "").lstrip(".")
    return f"`{field}`: {rule['message']}" if field else rule["message"]


def _frozen(spec: Node) -> frozenset[str]:
    """Return the fields that a rule compares with what they were."""
    rules = " ".join(rule["rule"] for rule in spec.get("x-kubernetes-validations", ()))
    return frozenset(re.findall(r"self\.(\w+) == oldSelf\.\1\b", rules))


Row = tuple[str, Node, bool]  # path, schema, whether it is required


def _fields(node: Node, prefix: str) -> Iterator[Row]:
    required = node.get("required", ())
    for name, child in node.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield path, child, name in required
        yield from _fields(child, f"{path}.")
        if "items" in child:
            yield from _fields(child["items"], f"{path}[].")


def _wanted_row(row: Row, frozen: frozenset[str]) -> str:
    path, node, required = row
    default = "**required**" if required else _default(node)
    return f"| `{path}` | {_type(node)} | {_unit(path, node)} | {default} | {_change(path, frozen)} | {_cell(node)} |"


def _seen_row(row: Row) -> str:
    path, node, _ = row
    return f"| `{path}` | {_type(node)} | {_unit(path, node)} | {_cell(node)} |"


def _change(path: str, frozen: frozenset[str]) -> str:
    if path.partition(".")[0].removesuffix("[]") not in frozen:
        return "any time"
    excluded = any(path == field or path.startswith((f"{field}.", f"{field}[].")) for field in EXCLUDED)
    return "never, no digest" if excluded else "never"


def _unit(path: str, node: Node) -> str:
    """Return what the value counts; nothing for a text that is not a number.

    Raises:
        SystemExit: a number has no unit.
    """
    inner = node.get("additionalProperties") or node.get("items") or {}
    named = next((unit for name, unit in UNITS.items() if path == name or path.endswith(f".{name}")), None)
    is_number = any(n.get("type") == "integer" or n.get("x-kubernetes-int-or-string") for n in (node, inner))
    if is_number or (named and node.get("type") == "string"):
        if named is None:
            raise SystemExit(f"{path} is a number: say in UNITS of docs/reference/generate.py what it counts")
        return named
    if node.get("format") == "date-time":
        return "time, RFC 3339"
    rules = " ".join(rule["message"] for rule in node.get("x-kubernetes-validations", ()))
    return next((unit for words, unit in SPELLINGS.items() if words in rules), "")


def _cell(node: Node) -> str:
    rules = [rule["message"] for rule in node.get("x-kubernetes-validations", ())]
    values = node.get("additionalProperties") or node.get("items") or {}
    rules += [rule["message"] for rule in values.get("x-kubernetes-validations", ())]
    text = " ".join([node["description"], *(f"*Rule:* {message}." for message in dict.fromkeys(rules))])
    return text.replace("|", "\\|").replace("<", "&lt;")


def _type(node: Node) -> str:
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


def _bounds(node: Node, low: str, high: str, unit: str = "") -> str:
    least, most = node.get(low), node.get(high)
    if most == 2**31 - 1:
        most = None
    if least is None and most is None:
        return ""
    if most is None:
        return f" (at least {least}{unit})"
    return f" (at most {most}{unit})" if least is None else f" ({least} to {most}{unit})"


def _default(node: Node) -> str:
    default = node.get("default")
    if default is None or isinstance(default, Mapping):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def pages() -> dict[Path, str]:
    """Return every page by its file."""
    crds = [yaml.safe_load(path.read_text("utf-8")) for path in sorted((ROOT / "crds").glob("*.yaml"))]
    kinds = {HERE / f"{crd['spec']['names']['singular']}.md": page(crd) for crd in crds}
    return kinds | {HERE / "reasons.md": reasons.page()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, "utf-8")
