"""The CRDs themselves: described, bounded, and without a way around the schema."""

import pytest

from inferenceversion_operator.api.crds import definitions, structural_schema

KINDS = ["InferenceVersion", "InferenceEndpoint"]


def nodes(schema, path=""):
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}{mark}")


def spec_nodes(kind):
    return list(nodes(structural_schema(kind)["properties"]["spec"], "spec"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind):
    bare = [
        p
        for p, node in nodes(structural_schema(kind))
        if "description" not in node and not p.endswith(("[]", ".*", ".metadata"))
    ]
    assert bare == []


@pytest.mark.parametrize("kind", KINDS)
def test_everything_a_user_writes_is_bounded(kind):
    bounds = {"string": ("maxLength", "enum"), "array": ("maxItems",), "integer": ("maximum",)}
    unbounded = [
        path
        for path, node in spec_nodes(kind)
        if not any(bound in node for bound in bounds.get(node.get("type"), ("type", "maxLength")))
        and not path.endswith(("shape[]", "tolerationSeconds"))
    ]
    assert unbounded == []
    maps = [path for path, node in spec_nodes(kind) if "additionalProperties" in node and "maxProperties" not in node]
    assert maps == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_let_through_unchecked(kind):
    loose = [
        p for p, n in nodes(structural_schema(kind)) if "x-kubernetes-preserve-unknown-fields" in n or n.get("nullable")
    ]
    assert loose == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_says_how_it_is_merged(kind):
    assert [
        p for p, n in nodes(structural_schema(kind)) if n.get("type") == "array" and "x-kubernetes-list-type" not in n
    ] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_says_what_to_do(kind):
    rules = [rule for _, node in nodes(structural_schema(kind)) for rule in node.get("x-kubernetes-validations", ())]
    assert [rule for rule in rules if not 20 < len(rule.get("message", "")) < 200] == []


@pytest.mark.parametrize("kind", KINDS)
def test_file_and_names(kind):
    crd = definitions()[kind]
    names = crd["spec"]["names"]
    assert crd["metadata"]["name"] == f"{names['plural']}.{crd['spec']['group']}"
    assert names["categories"] == ["inference"]
    assert names["shortNames"] == {"InferenceVersion": ["iv"], "InferenceEndpoint": ["iep"]}[kind]


def test_every_field_of_the_snapshot_has_a_rule_that_keeps_it():
    spec = structural_schema("InferenceVersion")["properties"]["spec"]
    kept = {rule["fieldPath"].lstrip(".") for rule in spec["x-kubernetes-validations"] if "oldSelf" in rule["rule"]}
    assert kept == spec["properties"].keys() - {"autoscaling", "traffic"}
    for name in kept - set(spec["required"]):
        (rule,) = (
            r["rule"]
            for r in spec["x-kubernetes-validations"]
            if "oldSelf" in r["rule"] and f"self.{name}" in r["rule"]
        )
        assert "default" in spec["properties"][name] or f"has(self.{name}) == has(oldSelf.{name})" in rule
