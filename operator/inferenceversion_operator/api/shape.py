"""The shape of an object, offline: types, bounds and unknown fields, in the words of the API server and a hint more."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from inferenceversion_operator.api.crds import structural_schema
from inferenceversion_operator.api.problem import Problem, below, path_of
from inferenceversion_operator.api.remedy import remedy

# After one of these the API server leaves out the CEL rules: their cost or their sense is not given any more.
_BLOCKING = frozenset({"type", "enum", "required", "maxLength", "maxItems", "maxProperties"})
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}
_BOUNDS = {
    "minimum": "should be greater than or equal to {}",
    "maximum": "should be less than or equal to {}",
    "minLength": "should be at least {} chars long",
    "maxLength": "Too long: may not be more than {} bytes",
    "minItems": "should have at least {} items",
    "maxItems": "Too many: must have at most {} items",
    "maxProperties": "Too many: must have at most {} items",
}
# Of these jsonschema checks all but the rules: what is wrong with a type is told with the help of the field's own.
_KEPT = frozenset({"type", "enum", "required", "pattern", "x-kubernetes-validations", *_BOUNDS})

# 32.0 is an integer to JSON Schema. The API server takes it for some fields and not for others: we never do.
_STRICT: type[Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)


class Shape(NamedTuple):
    problems: list[Problem]
    blocking: bool  # the rules can't be run on it


def check_shape(kind: str, obj: Mapping[str, Any]) -> Shape:
    """Return what the structural schema has against the object (defaults applied)."""
    schema = structural_schema(kind)
    unknown = list(_unknown_fields(obj, schema, ""))
    errors = list(_validator(kind).iter_errors(obj))
    problems = unknown + [_problem(error, schema) for error in errors] + list(_duplicates(obj, schema, ""))
    return Shape(problems, any(error.validator in _BLOCKING for error in errors))


@cache
def _validator(kind: str) -> Validator:
    return _STRICT(_json_schema(structural_schema(kind)))


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a structural schema; unknown fields are checked apart, where a hint can be given."""
    converted = {key: value for key, value in schema.items() if key in _KEPT}
    if schema.get("x-kubernetes-int-or-string"):
        converted["type"] = ["integer", "string"]
    if schema.get("format") == "int32":
        converted = {**_INT32, **converted}
    if "properties" in schema:
        converted["properties"] = {name: _json_schema(child) for name, child in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            converted[key] = _json_schema(schema[key])
    return converted


def _unknown_fields(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_fields(item, schema.get("items", {}), f"{path}[{index}]")
    elif isinstance(value, Mapping) and isinstance(schema.get("additionalProperties"), Mapping):
        for name, child in value.items():
            yield from _unknown_fields(child, schema["additionalProperties"], f"{path}[{name}]")
    elif isinstance(value, Mapping) and "properties" in schema:
        for name, child in value.items():
            field = below(path, str(name))
            if name in schema["properties"]:
                yield from _unknown_fields(child, schema["properties"][name], field)
            else:
                yield Problem(field, f'unknown field "{field}": {_hint(str(name), list(schema["properties"]))}')


def _hint(name: str, known: list[str]) -> str:
    by_case = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_case, n=1, cutoff=0.6)
    return f'did you mean "{by_case[close[0]]}"?' if close else f"known are {', '.join(sorted(known))}"


def _duplicates(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Yield the items of sets and of lists with keys that are there twice."""
    if isinstance(value, Mapping):
        for name, child in schema.get("properties", {}).items():
            if name in value:
                yield from _duplicates(value[name], child, below(path, name))
    elif isinstance(value, list):
        seen: list[Any] = []
        for index, item in enumerate(value):
            identity = _identity(item, schema)
            if identity is not None and identity in seen:
                yield Problem(f"{path}[{index}]", f"Duplicate value: {identity}: remove one of them or rename it")
            seen.append(identity)
            yield from _duplicates(item, schema.get("items", {}), f"{path}[{index}]")


def _identity(item: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        return item
    if kind == "map" and isinstance(item, Mapping):
        return {key: item.get(key) for key in schema["x-kubernetes-list-map-keys"]}
    return None


def _problem(error: ValidationError, schema: Mapping[str, Any]) -> Problem:
    path = path_of(error.absolute_path, schema)
    if error.validator == "required":
        missing = error.message.split("'")[1]  # jsonschema yields one error a missing field and names it nowhere else
        return Problem(below(path, missing), "Required value: set it")
    if error.validator == "type":
        return Problem(path, _wrong_type(error.instance, error.schema))
    return Problem(path, _message(str(error.validator), error.validator_value, error.instance))


def _wrong_type(value: Any, schema: Any) -> str:
    kind = schema["type"]
    what = f"must be of type {kind if isinstance(kind, str) else ','.join(kind)}, not {_type_name(value)}"
    instead = remedy(value, schema)
    return f"{what}: {instead}" if instead else what


def _message(keyword: str, bound: Any, value: Any) -> str:
    if keyword == "enum":
        return f"Unsupported value: {value!r}: supported values: {', '.join(map(str, bound))}"
    if keyword == "pattern":
        return f"should match '{bound}'"
    size = len(value) if hasattr(value, "__len__") else value
    return f"{_BOUNDS[keyword].format(bound)}, not {size}"


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null" if value is None else type(value).__name__)
