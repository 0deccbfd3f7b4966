"""Read the table of bad input: each case as the manifest that it means."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.merge_patch import merged

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    layer: str  # schema, lint, condition
    manifest: Mapping[str, Any]
    field: str
    message: str
    stored: Mapping[str, Any] | None = None  # the case is a change of this object
    also: tuple[Mapping[str, Any], ...] = ()  # there already
    reason: str = ""


def base(kind: str = "InferenceVersion") -> dict[str, Any]:
    """Return the good manifest of a kind."""
    manifest: dict[str, Any] = yaml.safe_load((FOLDER / "base" / f"{kind}.yaml").read_text("utf-8"))
    return manifest


def cases(*layers: str) -> list[Case]:
    """Return the cases of these layers, of all where none is named."""
    rows = [row for path in sorted(FOLDER.glob("*.yaml")) for row in yaml.safe_load(path.read_text("utf-8"))]
    return [_case(row) for row in rows if not layers or row["layer"] in layers]


def _case(row: Mapping[str, Any]) -> Case:
    good = base(row.get("kind", "InferenceVersion"))
    return Case(
        name=row["name"],
        layer=row["layer"],
        manifest=merged(good, row["patch"]),
        field=row["field"],
        message=row["message"],
        stored=good if row.get("change") else None,
        also=tuple(merged(good, patch) for patch in row.get("also", ())),
        reason=row.get("reason", ""),
    )
