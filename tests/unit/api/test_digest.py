"""The digest covers what runs: driven over the whole schema, so that no field is forgotten."""

import hashlib
import json
from copy import deepcopy
from itertools import pairwise

import pytest

from inferenceversion_operator.api.crds import structural_schema
from inferenceversion_operator.api.defaults import spec_with_defaults
from inferenceversion_operator.api.digest import CANONICAL, EXCLUDED, canonical_snapshot, snapshot_digest
from tests.bad_input.table import base

SCHEMA = structural_schema("InferenceVersion")["properties"]["spec"]


def leaves(schema, path=()):
    """Yield the path and schema of every value; ``*`` is a key of a map, ``0`` an item of a list."""
    if "properties" in schema:
        for name, child in schema["properties"].items():
            yield from leaves(child, (*path, name))
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from leaves(schema["additionalProperties"], (*path, "cpu"))
    elif "items" in schema:
        yield from leaves(schema["items"], (*path, 0))
    else:
        yield path, schema


LEAVES = dict(leaves(SCHEMA))


def dotted(path):
    return ".".join(str(step) for step in path if step != 0)


def excluded(path):
    return any(dotted(path[:length]) in EXCLUDED for length in range(1, len(path) + 1))


def is_duration(schema):
    return any("(h|m|s|ms)" in rule["rule"] for rule in schema.get("x-kubernetes-validations", ()))


SPECIAL = {
    "runtime.image": (f"triton@sha256:{'a' * 64}", f"triton@sha256:{'b' * 64}"),
    "slo.errorRate": ("1%", "2%"),
    "contract.goldens.tolerance.absolute": ("0.9", "0.7"),
    "contract.goldens.tolerance.relative": ("0.9", "0.7"),
}
PLAIN = {"string": ("nine", "seven"), "integer": (9, 7), "boolean": (True, False)}


def two_values(path, schema):
    """Return two values of the field that mean different things."""
    if dotted(path) in SPECIAL:
        return SPECIAL[dotted(path)]
    if "enum" in schema:
        return schema["enum"][:2]
    if is_duration(schema):
        return "9s", "7s"
    return (9, 7) if schema.get("x-kubernetes-int-or-string") else PLAIN[schema["type"]]


def with_value(spec, path, value):
    """Return the spec with the field set, and nothing else of the list or map it is in."""
    spec = deepcopy(spec)
    node = spec
    for step, following in pairwise(path):
        empty = [] if following == 0 else {}
        if step == 0:
            node[:] = node[:1] or [empty]
            node = node[0]
        else:
            node = node.setdefault(step, empty)
    if path[-1] == 0:
        node[:] = [value]
    else:
        node[path[-1]] = value
    return spec


@pytest.mark.parametrize("path", LEAVES, ids=dotted)
def test_each_field_counts_unless_it_is_excluded(path):
    one, other = (snapshot_digest(with_value(base()["spec"], path, value)) for value in two_values(path, LEAVES[path]))
    assert (one == other) is excluded(path)


def test_every_excluded_field_exists():
    known = {dotted(path[:length]) for path in LEAVES for length in range(1, len(path) + 1)}
    assert known >= EXCLUDED


def test_every_field_with_more_than_one_spelling_is_made_canonical():
    ambiguous = {
        dotted(path).replace(".cpu", ".*")
        for path, schema in LEAVES.items()
        if (schema.get("x-kubernetes-int-or-string") or is_duration(schema)) and not excluded(path)
    }
    assert ambiguous <= CANONICAL.keys()


@pytest.mark.parametrize(
    ("path", "spellings"),
    [
        (("guardrails", "timeout"), ["5s", "5000ms", "4s1000ms"]),
        (("guardrails", "maxRequestSize"), ["2Mi", "2048Ki", 2097152, "2097152"]),
        (("guardrails", "maxFeatureCount"), [500, 500.0]),
        (("slo", "p99"), ["60s", "1m"]),
        (("slo", "errorRate"), ["0.1%", "0.10%", "0.1000%"]),
        (("runtime", "resources", "limits", "cpu"), ["0.5", "500m", ".50"]),
        (("runtime", "resources", "limits", "memory"), ["1Gi", "1024Mi", "1073741824", 1073741824]),
        (("runtime", "resources", "limits", "nvidia.com/gpu"), [1, "1"]),
        (
            ("runtime", "image"),
            [f"{r}@sha256:{'a' * 64}" for r in ("triton", "mirror.local:5000/x/triton", "triton:24.08")],
        ),
        (("triton", "dynamicBatching", "preferredBatchSizes"), [[8, 16], [16, 8]]),
        (("triton", "dynamicBatching", "maxQueueDelay"), ["0s", "0ms"]),
        (("runtime", "env"), [[], None]),
        (("triton", "warmup"), [{}, {"enabled": True}, None]),
    ],
    ids=lambda value: dotted(value) if isinstance(value, tuple) else "",
)
def test_spellings_of_one_value_have_one_digest(path, spellings):
    assert len({snapshot_digest(with_value(base()["spec"], path, spelling)) for spelling in spellings}) == 1


def test_defaults_written_out_change_nothing():
    spec = base()["spec"]
    assert snapshot_digest(spec) == snapshot_digest(spec_with_defaults("InferenceVersion", spec))


def test_order_of_keys_changes_nothing():
    spec = base()["spec"]
    assert snapshot_digest(spec) == snapshot_digest(dict(reversed(spec.items())))


def test_order_of_tensors_counts():
    turned = base()["spec"]
    turned["contract"]["outputs"].reverse()
    assert snapshot_digest(turned) != snapshot_digest(base()["spec"])


def test_spec_is_left_as_it_was():
    spec = base()["spec"]
    snapshot_digest(spec)
    assert spec == base()["spec"]


def test_recipe():
    snapshot = canonical_snapshot(base()["spec"])
    assert snapshot == json.dumps(json.loads(snapshot), sort_keys=True, separators=(",", ":"))
    assert snapshot_digest(base()["spec"]) == f"sha256:{hashlib.sha256(snapshot.encode()).hexdigest()}"


def test_text_beyond_ascii_is_hashed_as_utf8():
    spec = with_value(base()["spec"], ("triton", "parameters", "cpu"), "grün")
    assert "grün" in canonical_snapshot(spec)
