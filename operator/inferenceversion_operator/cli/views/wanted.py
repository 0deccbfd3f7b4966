"""Which version is wanted where there is no pin: the operator's own rule."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.rollout.choose import choose_version
from inferenceversion_operator.core.snapshot import Settings, Snapshot


def wanted_without_pin(endpoint: Mapping[str, Any], versions: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the version that the operator would choose; None where there is none to choose."""
    view = replace(parse_endpoint(endpoint), pin=None)
    read = tuple(version for version in map(_parse, versions) if version)
    chosen = choose_version(Snapshot(view.namespace, view.name, Settings("", ""), endpoint=view, versions=read))
    return chosen.version if chosen else None


def _parse(version: Mapping[str, Any]) -> InferenceVersion | None:
    """Return the version; None where the operator can't read it either (an older schema let it in)."""
    try:
        return parse_version(version)
    except (KeyError, TypeError, ValueError):
        return None
