"""Triton's configs as text: a golden a backend, each read back by Triton's own schema."""

from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from inferenceversion_operator.api.types import Pipeline, Tensor
from inferenceversion_operator.core.objects.triton_config import make_triton_configs
from tests.support.envoy_version import PARTS, POSTPROCESSOR, PREPROCESSOR, version

GOLDEN = Path(__file__).parents[3] / "golden" / "triton_config"
IDS = (Tensor("input_ids", "INT64", (-1,)), Tensor("attention_mask", "INT64", (-1,)))
LOGITS = (Tensor("logits", "FP32", (3,)),)
IMAGE = (Tensor("image", "FP32", (3, 224, 224)),)

CASES = {
    "python": version(
        **PARTS,
        triton={"max_queue_delay_ms": 2.5, "preferred_batch_sizes": (4, 8), "parameters": {"labels": "neg,neu,pos"}},
        guardrails={"max_feature_count": 500},
    ),
    "python-without-batches": version(triton={"max_batch_size": 0}),
    "no-warm-up": version(triton={"warmup": False}),
    "onnx": version(
        model={"format": "onnx"},
        inputs=IDS,
        outputs=LOGITS,
        triton={
            "instance_count": 2,
            "instance_kind": "KIND_GPU",
            "max_queue_delay_ms": 10,
            "tensorrt_precision": "FP16",
        },
    ),
    "torchscript": version(model={"format": "torchscript"}, inputs=IMAGE, outputs=LOGITS),
    "tensorrt": version(
        model={"format": "tensorrt"}, inputs=IMAGE, outputs=LOGITS, triton={"instance_kind": "KIND_GPU"}
    ),
    "savedmodel": version(model={"format": "savedmodel"}, inputs=IMAGE, outputs=LOGITS),
    "vllm": version(model={"format": "vllm"}, inputs=(), outputs=(), triton={"max_batch_size": 0}),
    "another-backend": version(triton={"backend": "fil"}, inputs=IMAGE, outputs=LOGITS),
    "scalars-and-several-strings": version(
        inputs=(Tensor("TEXT", "BYTES", ()), Tensor("TAGS", "BYTES", (2, 3)), Tensor("WEIGHT", "FP16", ())),
    ),
    "ensemble": version(
        **PARTS,
        model={"format": "onnx", "inputs": IDS, "outputs": LOGITS},
        triton={"pipeline": Pipeline.ENSEMBLE, "max_queue_delay_ms": 10},
        guardrails={"max_feature_count": 500},
    ),
    "ensemble-of-model-and-postprocessor": version(
        model={"format": "onnx", "inputs": IDS, "outputs": LOGITS},
        triton={"pipeline": Pipeline.ENSEMBLE},
        postprocessor=PARTS["postprocessor"],
        inputs=IDS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name, golden):
    for key, text in make_triton_configs(CASES[name]).items():
        golden(GOLDEN / name / key, text)


@pytest.mark.parametrize("name", CASES)
def test_golden_folder_holds_nothing_else(name):
    assert {path.name for path in (GOLDEN / name).iterdir()} == set(make_triton_configs(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_triton_can_read_it_and_writes_it_the_same(name):
    """The protobuf library prints what it read; ours must be its text, but for the order of the fields."""
    for key, text in make_triton_configs(CASES[name]).items():
        if key.endswith("config.pbtxt"):
            config = parse(text)
            assert sorted(_tokens(text)) == sorted(_tokens(text_format.MessageToString(config)))


@pytest.mark.parametrize(
    ("name", "backend"),
    [("python", "python"), ("onnx", "onnxruntime"), ("torchscript", "pytorch"), ("tensorrt", "tensorrt"),
     ("savedmodel", "tensorflow"), ("vllm", "vllm"), ("another-backend", "fil")],
)  # fmt: skip
def test_backend_follows_the_format(name, backend):
    assert parse(make_triton_configs(CASES[name])["config.pbtxt"]).backend == backend


def test_requests_leave_the_queue_when_the_guard_gives_up():
    for name in ("python", "python-without-batches"):
        policy = parse(make_triton_configs(CASES[name])["config.pbtxt"]).dynamic_batching.default_queue_policy
        assert policy.default_timeout_microseconds == 5_000_000
        assert policy.timeout_action == policy.REJECT


def test_parameters_name_the_hashes_and_win_over_the_users():
    text = make_triton_configs(version(**PARTS, triton={"parameters": {"preprocessor_config_hash": "mine"}}))
    parameters = {key: value.string_value for key, value in parse(text["config.pbtxt"]).parameters.items()}
    assert parameters == {"preprocessor_config_hash": PREPROCESSOR, "postprocessor_config_hash": POSTPROCESSOR}


def test_precision_is_for_backends_that_know_it():
    assert "FP16" in make_triton_configs(CASES["onnx"])["config.pbtxt"]
    assert "FP16" not in make_triton_configs(version(triton={"tensorrt_precision": "FP16"}))["config.pbtxt"]


def test_strings_of_the_warm_up_are_what_triton_reads():
    files = make_triton_configs(CASES["scalars-and-several-strings"])
    assert files["warmup-strings-1"].encode() == b"\x07\x00\x00\x00warm up"
    assert files["warmup-strings-6"] == 6 * files["warmup-strings-1"]


def test_ensemble_joins_the_contract_and_the_graph():
    configs = make_triton_configs(CASES["ensemble"])
    steps = parse(configs["news_sentiment.config.pbtxt"]).ensemble_scheduling.step
    assert [step.model_name for step in steps] == [f"news_sentiment_{kind}" for kind in ("pre", "model", "post")]
    assert dict(steps[0].input_map) == {"TEXT": "TEXT"}
    assert dict(steps[0].output_map) == dict(steps[1].input_map)
    assert dict(steps[1].output_map) == dict(steps[2].input_map)
    assert dict(steps[2].output_map) == {"LABEL": "LABEL", "SCORE": "SCORE"}
    assert not set(steps[0].output_map.values()) & {"TEXT", "LABEL", "SCORE"}


HOSTILE = ['x" }\nbackend: "evil"', 'a\\"\n\x00\x07é\u2028', "${HOME} {{x}}", "'single' # comment", "\\", '"']


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_stay_values(text):
    hostile = version(
        model={"name": text},
        triton={"backend": text, "parameters": {text: text}},
        inputs=(Tensor(text, "FP32", (1,)),),
    )
    config = parse(make_triton_configs(hostile)["config.pbtxt"])
    assert (config.name, config.backend, config.input[0].name) == (text, text, text)
    assert config.parameters[text].string_value == text
    assert len(config.input) == 1
    assert [sample.inputs[text].zero_data for sample in config.model_warmup] == [True, True]


def parse(text):
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def _tokens(text):
    """Return the lines without indentation, and without those of default values: the library prints none."""
    defaults = {"enable: false", "max_batch_size: 0", "kind: KIND_AUTO", "timeout_action: REJECT"}
    return [line.strip() for line in text.splitlines() if line.strip() not in defaults]


@pytest.mark.parametrize("shape", [(16_385,), (2**63 - 1,) * 8])
def test_a_warm_up_of_more_strings_than_a_config_map_holds_is_left_out(shape):
    files = make_triton_configs(version(inputs=(Tensor("TEXT", "BYTES", shape),)))
    assert set(files) == {"config.pbtxt"}
    assert not parse(files["config.pbtxt"]).model_warmup
