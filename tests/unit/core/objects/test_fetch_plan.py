"""fetch.json: where each byte comes from, which hash it is under and where Triton finds it."""

import json
from pathlib import Path

import pytest

from inferenceversion_operator.api.types import Part, Pipeline, Tensor
from inferenceversion_operator.core.objects.fetch_plan import make_fetch_plan, make_fetch_plan_json
from inferenceversion_operator.core.objects.triton_config import make_triton_configs
from tests.support.envoy_version import PARTS, POSTPROCESSOR, PREPROCESSOR, WEIGHTS, version

GOLDEN = Path(__file__).parents[3] / "golden" / "fetch_plan"
IDS = (Tensor("input_ids", "INT64", (-1,)),)
ENSEMBLE = {"pipeline": Pipeline.ENSEMBLE}

CASES = {
    "a-folder-of-the-image": version(**PARTS),
    "a-download": version(
        model={"format": "onnx", "source": "https://models.example/news-2.4.0.tar.gz"}, inputs=IDS, **PARTS
    ),
    "a-saved-model-with-its-parts": version(
        model={"format": "savedmodel", "source": "s3://models/news/2.4.0"}, inputs=IDS, **PARTS
    ),
    "a-part-without-a-hash": version(preprocessor=Part("v3.2.1", "preprocessor")),
    "an-ensemble": version(
        model={"format": "onnx", "inputs": IDS, "source": "pvc://models/news"}, triton=ENSEMBLE, **PARTS
    ),
    "an-ensemble-whose-parts-have-other-paths": version(
        model={"format": "tensorrt", "inputs": IDS, "source": "oci://registry.example/news@sha256:" + "f5" * 32},
        triton=ENSEMBLE,
        preprocessor=Part("v3.2.1", "tokenizer/fast", PREPROCESSOR),
        postprocessor=Part("v1.0.0", "calibrator"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name, golden):
    text = make_fetch_plan_json(CASES[name])
    assert json.loads(text) == make_fetch_plan(CASES[name])
    golden(GOLDEN / f"{name}.json", text)


@pytest.mark.parametrize("name", CASES)
def test_every_config_is_in_the_config_map(name):
    plan = make_fetch_plan(CASES[name])
    assert {config["key"] for config in plan["configs"]} == set(make_triton_configs(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_no_two_entries_go_to_one_place(name):
    plan = make_fetch_plan(CASES[name])
    for entries in (plan["layout"], plan["configs"]):
        places = [entry["to"] for entry in entries]
        assert len(places) == len(set(places))


@pytest.mark.parametrize("scheme", ["image:///opt/model", "pvc://claim/path", "oci://registry/x"])
def test_mounted_sources_say_where(scheme):
    assert make_fetch_plan(version(model={"source": scheme}))["mounted"] == "/source"


@pytest.mark.parametrize("scheme", ["https://h/x", "s3://b/k", "gs://b/k", "hf://org/model@rev"])
def test_downloads_are_not_mounted(scheme):
    assert "mounted" not in make_fetch_plan(version(model={"source": scheme}))


@pytest.mark.parametrize(
    ("model_format", "name"),
    [("onnx", "model.onnx"), ("torchscript", "model.pt"), ("tensorrt", "model.plan"), ("python", "model.py"),
     ("savedmodel", "saved_model.pb"), ("vllm", "model.json")],
)  # fmt: skip
def test_single_file_is_called_as_triton_wants_it(model_format, name):
    assert make_fetch_plan(version(model={"format": model_format}))["fileName"] == name


def test_only_parts_with_a_hash_are_parts():
    plan = make_fetch_plan(CASES["a-part-without-a-hash"])
    assert (plan["parts"], plan["weightHash"]) == ([], WEIGHTS)
    hashes = [part["hash"] for part in make_fetch_plan(CASES["a-download"])["parts"]]
    assert hashes == [PREPROCESSOR, POSTPROCESSOR]


@pytest.mark.parametrize("text", ['"], "layout": []', "\n\x00\u2028é", "\\"])
def test_hostile_strings_stay_values(text):
    hostile = version(model={"source": text, "weight_hash": text}, preprocessor=Part("1", text, text))
    plan = json.loads(make_fetch_plan_json(hostile))
    assert (plan["source"], plan["weightHash"]) == (text, text)
    assert plan["parts"] == [{"name": "preprocessor", "path": text, "hash": text}]
    assert set(plan) == {"source", "weightHash", "fileName", "parts", "layout", "needs", "configs"}
