"""The table of bad input, offline: each mistake gets its message, and a good manifest gets none."""

from itertools import chain

import pytest

from inferenceversion_operator.api.crds import structural_schema
from inferenceversion_operator.api.lint import lint, lint_together
from inferenceversion_operator.api.schema import validate
from tests.bad_input.table import Case, base, cases


def named(*layers):
    return pytest.mark.parametrize("case", cases(*layers), ids=lambda case: case.name)


@pytest.mark.parametrize("kind", ["InferenceVersion", "InferenceEndpoint"])
def test_base_is_good(kind):
    assert validate(base(kind)) == []
    assert validate(base(kind), old=base(kind)) == []
    assert lint(base(kind)) == []


@named("schema")
def test_schema_refuses(case: Case):
    problems = validate(case.manifest, case.stored)
    assert any(p.field == case.field and case.message in p.message for p in problems), problems


@named("schema")
def test_one_mistake_gets_few_messages(case: Case):
    assert len(validate(case.manifest, case.stored)) <= 3


@named("lint")
def test_lint_advises(case: Case):
    assert validate(case.manifest) == []
    assert any(p.field == case.field and case.message in p.message for p in lint(case.manifest))


@named("condition")
def test_schema_leaves_it_to_the_cluster(case: Case):
    assert [validate(obj) for obj in (*case.also, case.manifest)] == [[]] * (1 + len(case.also))
    assert case.reason


def test_two_versions_alike_are_seen_when_linted_together():
    (case,) = (c for c in cases("condition") if c.name == "versions-that-differ-in-build-metadata-alone")
    (problem,) = lint_together([*case.also, case.manifest])
    assert problem.field == "spec.version"
    assert "news-sentiment-first" in problem.message


def test_names_of_cases_are_unique_and_there_are_enough():
    names = [case.name for case in cases()]
    assert len(names) == len(set(names)) >= 60


def rules(schema):
    yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
    children = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    yield from chain.from_iterable(rules(child) for child in children if isinstance(child, dict))


@pytest.mark.parametrize("kind", ["InferenceVersion", "InferenceEndpoint"])
def test_every_rule_has_a_case(kind):
    expected = [case.message for case in cases("schema")]
    unseen = {message for message in rules(structural_schema(kind)) if not any(part in message for part in expected)}
    assert unseen == set()


@pytest.mark.parametrize("obj", [{}, {"kind": []}, {"kind": "Pod"}, {"kind": "InferenceVersion"}], ids=str)
def test_what_is_no_such_object_is_refused_without_a_traceback(obj):
    assert validate(obj)


@pytest.mark.parametrize("metadata", [None, [], {}, {"name": None}, {"name": 1}, {"name": ""}], ids=str)
def test_metadata_of_any_shape_is_refused_without_a_traceback(metadata):
    assert validate({**base(), "metadata": metadata})


def test_a_change_of_what_may_change_is_taken():
    changed = base()
    changed["spec"]["autoscaling"] = {"minReplicas": 3}
    changed["spec"]["traffic"] = {"strategy": "Canary", "canary": {"steps": [{"weight": 10}, {"weight": 50}]}}
    assert validate(changed, old=base()) == []


def test_a_whole_number_is_written_without_a_fraction():
    manifest = base()
    manifest["spec"]["guardrails"]["maxFeatureCount"] = 500.0
    (problem,) = validate(manifest)
    assert problem.message == "must be of type integer, not number: write 500"


def test_a_null_is_no_value():
    manifest = base()
    manifest["spec"]["slo"] = None
    manifest["spec"]["triton"]["parameters"] = {"a": None}
    assert validate(manifest) == []
