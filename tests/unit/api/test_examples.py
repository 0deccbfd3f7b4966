"""Every file of examples/ is valid, advised against nothing but its placeholders, and has the digest of the golden."""

import json
import re
from pathlib import Path

import pytest
import yaml

from inferenceversion_operator.api.lint import lint
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.schema import validate
from inferenceversion_operator.api.types import Strategy
from inferenceversion_operator.core.objects.guard.stats import metric_labels

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
# An image has its digest when it is built; the weights of the GPU example can't be had here.
PLACEHOLDERS = {path.name: {"spec.runtime.image"} for path in EXAMPLES} | {
    "inferenceendpoint.yaml": set(),
    "inferenceversion-cardiffnlp.yaml": {
        "spec.model.weightHash",
        "spec.preprocessor.configHash",
        "spec.postprocessor.configHash",
        "spec.runtime.image",
    },
}


def objects(path):
    return [obj for obj in yaml.safe_load_all(path.read_text("utf-8")) if obj]


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_example_is_valid(path):
    for obj in objects(path):
        assert validate(obj) == []
        assert [problem for problem in lint(obj) if problem.field not in PLACEHOLDERS[path.name]] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_lint_tells_what_is_to_be_filled_in(path):
    told = {p.field for obj in objects(path) for p in lint(obj) if "is a placeholder" in p.message}
    assert told == PLACEHOLDERS[path.name]


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_example_is_read(path):
    for obj in objects(path):
        view = parse_endpoint(obj) if obj["kind"] == "InferenceEndpoint" else parse_version(obj)
        assert view.name == obj["metadata"]["name"]


def test_digests_of_the_examples(golden):
    """A change is a change of identity: docs/decisions/20261130-snapshot-digest.md."""
    versions = [(named(path), obj) for path in EXAMPLES for obj in objects(path) if obj["kind"] == "InferenceVersion"]
    digests = {f"{file}: {obj['metadata']['name']}": parse_version(obj).digest for file, obj in versions}
    golden(ROOT / "tests/golden/api/digests.yaml", yaml.safe_dump(digests, width=200))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("inferenceversion*.yaml")), ids=named)
def test_hashes_are_those_of_the_model_that_is_built(path):
    built = json.loads((ROOT / "images/triton-sentiment/HASHES.json").read_text("utf-8"))["good"]
    (obj,) = objects(path)
    version = parse_version(obj)
    assert version.preprocessor is not None
    assert version.postprocessor is not None
    told = (
        version.model.weight_hash,
        version.model.opset,
        version.preprocessor.config_hash,
        version.postprocessor.config_hash,
    )
    expected = (built["weightHash"], built["opset"], built["preprocessor"], built["postprocessor"])
    assert told == expected, "write them anew: python examples/refresh_hashes.py, then make golden"


def test_a_release_by_steps_is_shown():
    (obj,) = objects(ROOT / "examples/inferenceversion-canary.yaml")
    version = parse_version(obj)
    traffic = version.traffic
    assert traffic.strategy is Strategy.SHADOW_THEN_CANARY
    assert [step.weight for step in traffic.canary.steps] == [5, 25, 50]
    (gate,) = traffic.gates
    assert gate.maximum == 0.05
    # The query asks for this version, and only labels that its guard has.
    ours = metric_labels(version)
    asked = set(re.findall(r'(inference_\w+)="([^"]*)"', gate.promql))
    assert asked == {(label, ours[label]) for label in ("inference_endpoint", "inference_version")}
