"""The versions of the story are the examples, and differ in what the story is about."""

import hashlib
import json

import pytest
import yaml

from demo.cluster import ROOT
from demo.manifests import (
    EXAMPLES,
    FIRST,
    IMMEDIATE,
    NEXT,
    STEPWISE,
    as_file,
    make_bad,
    make_first,
    make_next,
    with_image,
)
from inferenceversion_operator.api.lint import lint
from inferenceversion_operator.api.parse import parse_version
from inferenceversion_operator.api.schema import validate

IMAGE = "localhost/triton-sentiment@sha256:" + hashlib.sha256(b"image").hexdigest()
ALL = [make_first(IMAGE), make_next(IMAGE, STEPWISE), make_next(IMAGE, IMMEDIATE), make_bad(IMAGE)]


@pytest.mark.parametrize("example", EXAMPLES.values())
def test_the_examples_image_is_replaced_and_nothing_else(example):
    before = (ROOT / example).read_text().splitlines()
    after = with_image((ROOT / example).read_text(), IMAGE).splitlines()
    changed = [(b.strip(), a.strip()) for b, a in zip(before, after, strict=True) if b != a]
    assert [a for _, a in changed] == [f"image: {IMAGE}"]


def test_an_example_without_a_placeholder_is_not_applied_as_it_is():
    with pytest.raises(ValueError, match="0 placeholders"):
        with_image("image: real@sha256:" + "1" * 64, IMAGE)


@pytest.mark.parametrize("manifest", ALL, ids=lambda obj: obj["spec"]["version"])
def test_each_is_valid_and_nothing_is_advised_against(manifest):
    assert validate(manifest) == []
    assert list(lint(manifest)) == []
    assert yaml.safe_load(as_file(manifest)) == manifest


def test_the_first_is_the_example():
    example = yaml.safe_load((ROOT / EXAMPLES[FIRST]).read_text())
    example["spec"]["runtime"]["image"] = IMAGE
    assert make_first(IMAGE) == example


def test_the_bad_one_differs_from_the_one_before_in_its_preprocessor_alone():
    good, bad = make_next(IMAGE, STEPWISE)["spec"], make_bad(IMAGE)["spec"]
    assert {key for key in good if good[key] != bad[key]} == {"version", "model", "preprocessor"}
    assert {key for key in good["model"] if good["model"][key] != bad["model"][key]} == {"source"}


def test_the_bad_one_has_the_hashes_of_the_variant_that_the_image_holds():
    built = json.loads((ROOT / "images/triton-sentiment/HASHES.json").read_text())["tokenizer"]
    bad = parse_version(make_bad(IMAGE))
    assert bad.preprocessor is not None
    assert (bad.model.weight_hash, bad.preprocessor.config_hash) == (built["weightHash"], built["preprocessor"])
    folder = bad.model.source.removeprefix("image://")
    assert folder in (ROOT / "images/triton-sentiment/Dockerfile").read_text()


def test_a_version_is_not_changed_by_what_becomes_of_another():
    one = make_next(IMAGE, STEPWISE)
    one["spec"]["slo"]["p95"] = "1ms"
    assert make_next(IMAGE, STEPWISE)["spec"]["slo"]["p95"] != "1ms"
    assert one["spec"]["version"] == NEXT


def test_a_step_lasts_longer_than_its_requests_take_to_come():
    """Else the verdict that ends it is never seen: 20 a second, and two scrapes of 2 s."""
    traffic = parse_version(make_next(IMAGE, STEPWISE)).traffic
    stages = [(traffic.shadow.percent, traffic.shadow.min_duration_s, traffic.shadow.min_requests)]
    stages += [(step.weight, step.min_duration_s, step.min_requests) for step in traffic.canary.steps]
    assert [share for share, took, count in stages if count / (20 * share / 100) + 4 > took] == []
