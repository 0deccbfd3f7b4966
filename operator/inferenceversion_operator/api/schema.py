"""Validate a manifest offline, with the verdict of the API server: the CRD's schema and its CEL rules."""

from collections.abc import Mapping
from typing import Any

from inferenceversion_operator.api.crds import definitions
from inferenceversion_operator.api.defaults import with_defaults
from inferenceversion_operator.api.labels import API_VERSION
from inferenceversion_operator.api.names import SUBDOMAIN, SUBDOMAIN_MAX
from inferenceversion_operator.api.problem import Problem
from inferenceversion_operator.api.rules import check_rules
from inferenceversion_operator.api.shape import check_shape

__all__ = ["Problem", "validate"]


def validate(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[Problem]:
    """Return what the API server would refuse the object for, in the order of the fields; empty: it would take it.

    Args:
        obj: an InferenceVersion or InferenceEndpoint, as YAML gives it.
        old: the object as it is stored now; with it the rules on changes are checked too (the snapshot is immutable).
    """
    kind = obj.get("kind")
    if not isinstance(kind, str) or kind not in definitions():
        return [Problem("kind", f"unknown kind {kind!r}: write {' or '.join(sorted(definitions()))}")]
    if obj.get("apiVersion") != API_VERSION:
        return [Problem("apiVersion", f"must be {API_VERSION}, not {obj.get('apiVersion')!r}")]
    problems = _check_name(obj.get("metadata"))
    if problems:
        return problems
    filled = with_defaults(kind, obj)
    shape = check_shape(kind, filled)
    if shape.blocking:
        return sorted(shape.problems)
    before = None if old is None else with_defaults(kind, old)
    return sorted({*shape.problems, *check_rules(kind, filled, before)})


def _check_name(metadata: Any) -> list[Problem]:
    if not isinstance(metadata, Mapping):
        return [Problem("metadata", "Required value: set metadata.name")]
    name = metadata.get("name")
    if name is None:
        return [Problem("metadata.name", "Required value: name the object")]
    if not isinstance(name, str):
        return [Problem("metadata.name", f"must be of type string, not {type(name).__name__}: put it in quotes")]
    problems = []
    if len(name) > SUBDOMAIN_MAX:
        problems.append(Problem("metadata.name", f"must be no more than {SUBDOMAIN_MAX} characters, has {len(name)}"))
    if not SUBDOMAIN.fullmatch(name):
        message = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character"
        )
        problems.append(Problem("metadata.name", message))
    return problems
