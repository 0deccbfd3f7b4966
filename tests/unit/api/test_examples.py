"""Every file of examples/ is valid, advised against nothing, and has the digest of the golden."""

import json
from pathlib import Path

import pytest
import yaml

from inferenceversion_operator.api.lint import lint
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.schema import validate

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
GOLDEN = yaml.safe_load((ROOT / "tests/golden/api/digests.yaml").read_text("utf-8"))


def objects(path):
    return [obj for obj in yaml.safe_load_all(path.read_text("utf-8")) if obj]


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_example_is_valid(path):
    for obj in objects(path):
        assert validate(obj) == []
        assert lint(obj) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_example_is_read_and_has_the_golden_digest(path):
    digests = []
    for obj in objects(path):
        if obj["kind"] == "InferenceEndpoint":
            assert parse_endpoint(obj).name == obj["metadata"]["name"]
        else:
            digests.append(parse_version(obj).digest)
    assert digests == GOLDEN.get(named(path), [])


def test_golden_names_examples_that_exist():
    assert {named(path) for path in EXAMPLES} >= GOLDEN.keys()


@pytest.mark.parametrize("name", ["inferenceversion.yaml", "inferenceversion-2.4.1.yaml"])
def test_hashes_are_those_of_the_model_that_is_built(name):
    built = json.loads((ROOT / "images/triton-sentiment/HASHES.json").read_text("utf-8"))["good"]
    (obj,) = objects(ROOT / "examples" / name)
    version = parse_version(obj)
    assert version.preprocessor is not None
    assert version.postprocessor is not None
    told = (
        version.model.weight_hash,
        version.model.opset,
        version.preprocessor.config_hash,
        version.postprocessor.config_hash,
    )
    assert told == (built["weightHash"], built["opset"], built["preprocessor"], built["postprocessor"])
