"""The CEL rules of the CRDs, run offline: the same text that the API server compiles, and what it adds to CEL."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import cel

from inferenceversion_operator.api import quantity
from inferenceversion_operator.api.crds import structural_schema
from inferenceversion_operator.api.problem import Problem, below


def check_rules(kind: str, obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[Problem]:
    """Return the rules that the object breaks (defaults applied, shape checked).

    Args:
        kind: the kind of the object.
        obj: the object.
        old: the object as it is stored; with it the rules on changes are run too.
    """
    return list(_broken(obj, old, structural_schema(kind), ""))


def check_value(value: Any, schema: Mapping[str, Any]) -> list[Problem]:
    """Return the rules of a field's schema that a value of it breaks, those on changes left out."""
    return list(_broken(value, None, schema, ""))


def _broken(value: Any, old: Any, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if "oldSelf" in rule["rule"] and old is None:
            continue
        if not _holds(rule["rule"], value, old):
            yield Problem(path + rule.get("fieldPath", ""), rule["message"])
    yield from _broken_inside(value, old, schema, path)


def _broken_inside(value: Any, old: Any, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        before = old if isinstance(old, Mapping) else {}
        for name, child in schema.get("properties", {}).items():
            if name in value:
                yield from _broken(value[name], before.get(name), child, below(path, name))
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            for name, child_value in value.items():
                yield from _broken(child_value, None, values, f"{path}[{name}]")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _broken(item, None, schema.get("items", {}), f"{path}[{index}]")


def _holds(rule: str, value: Any, old: Any) -> bool:
    context = cel.Context()
    context.add_variable("self", value)
    if old is not None:
        context.add_variable("oldSelf", old)
    for name, function in _FUNCTIONS.items():
        context.add_function(name, function)
    try:
        return _program(rule).execute(context) is True
    except (KeyError, RuntimeError, TypeError, ValueError):
        return False  # as on the API server: a rule that can't be evaluated is broken, and its message is shown


@cache
def _program(rule: str) -> Any:
    return cel.compile(rule)


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _compare(one: str, other: str) -> int:
    a, b = Decimal(one), Decimal(other)
    return (a > b) - (a < b)


# What Kubernetes' CEL has and the library has not. A quantity is its plain number as a string meanwhile.
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "isQuantity": _is_quantity,
    "quantity": quantity.plain,
    "compareTo": _compare,
    "lowerAscii": lambda text: text.lower(),
    "isSorted": lambda items: list(items) == sorted(items),
}
