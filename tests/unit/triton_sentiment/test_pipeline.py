"""The pipeline without Triton: batches of requests, refusals, and loads that must not happen."""

import shutil

import numpy as np
import pytest
from folder_hash import content_hash
from sentiment_pipeline import Answer, LoadRefused, Refusal, SentimentPipeline, Settings
from serving_config import read_settings

BAD, GOOD = b"Thousands lose their homes as floods destroy the town", b"Lovely festival brings joy and hope to children"
TENSORS = {
    "input": [{"name": "TEXT", "data_type": "TYPE_STRING"}],
    "output": [{"name": "LABEL", "data_type": "TYPE_STRING"}, {"name": "SCORES", "data_type": "TYPE_FP32"}],
}


@pytest.fixture(scope="module")
def pipeline(artifact):
    return SentimentPipeline(artifact, Settings({}, max_feature_count=20))


@pytest.fixture
def copy(artifact, tmp_path):
    return shutil.copytree(artifact, tmp_path / "artifact")


def test_requests_of_any_size_are_answered_in_order(pipeline):
    results = pipeline.run([[BAD], [GOOD, BAD, GOOD], [GOOD]])
    assert [result.labels for result in results] == [["negative"], ["positive", "negative", "positive"], ["positive"]]
    assert [result.scores.shape for result in results] == [(1, 3), (3, 3), (1, 3)]


def test_an_answer_does_not_depend_on_the_batch(pipeline):
    (alone,) = pipeline.run([[GOOD]])
    beside = pipeline.run([[b"a " * 20], [GOOD]])[1]
    assert beside.scores == pytest.approx(alone.scores, abs=1e-5)


def test_a_bad_request_is_refused_and_its_mates_are_not(pipeline):
    results = pipeline.run([[GOOD], [GOOD, b""], [b"\xff"], [b"a " * 21], [], [BAD]])
    assert [type(result) for result in results] == [Answer, Refusal, Refusal, Refusal, Refusal, Answer]
    assert [result.message for result in results if isinstance(result, Refusal)] == [
        "TEXT[1]: empty text",
        "TEXT[0]: not valid UTF-8 (invalid start byte at byte 0)",
        "TEXT[0]: 21 features (tokens) are more than max_feature_count 20",
        "TEXT: no text in the request",
    ]
    assert results[-1].labels == ["negative"]


def test_a_batch_of_bad_requests_runs_no_model(pipeline):
    assert pipeline.run([[b""], [b""]]) == [Refusal("TEXT[0]: empty text")] * 2


def test_scores_are_float32_and_sum_to_one(pipeline):
    (result,) = pipeline.run([[GOOD, BAD]])
    assert result.scores.dtype == np.float32
    assert result.scores.sum(axis=1) == pytest.approx([1, 1], abs=1e-6)


def test_the_right_hashes_load(copy):
    expected = {part: content_hash(copy / part) for part in ("preprocessor", "postprocessor")}
    SentimentPipeline(copy, Settings(expected))


@pytest.mark.parametrize("part", ["preprocessor", "postprocessor"])
def test_a_changed_part_is_refused_with_both_hashes(copy, part):
    wanted = content_hash(copy / part)
    (copy / part / "more.txt").write_text("changed")
    with pytest.raises(LoadRefused) as refused:
        SentimentPipeline(copy, Settings({part: wanted}))
    assert str(refused.value) == f"{part} config hash differs: expected {wanted}, got {content_hash(copy / part)}"


@pytest.mark.parametrize("name", ["model.onnx", "labels.json"])
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(LoadRefused, match=f"{name} is missing in"):
        SentimentPipeline(copy, Settings({}))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.onnx", "no onnx", "model.onnx cannot be loaded"),
        ("preprocessor/config.json", "{}", "preprocessor cannot be loaded"),
        ("preprocessor/tokenizer.json", "{}", "preprocessor cannot be loaded"),
        ("postprocessor/calibrator.json", "{", "postprocessor cannot be loaded"),
        ("labels.json", '["a", "b", "c"]', "postprocessor cannot be loaded: calibrator.json is for the labels"),
    ],
)
def test_a_broken_part_is_named(copy, name, content, message):
    (copy / name).write_text(content)
    with pytest.raises(LoadRefused, match=message):
        SentimentPipeline(copy, Settings({}))


def test_settings_of_an_empty_parameter_list_are_the_defaults():
    assert read_settings(TENSORS) == Settings({}, max_feature_count=500, intra_op_threads=1)


def test_parameters_are_read():
    parameters = {
        "preprocessor_config_hash": {"string_value": "sha256:1"},
        "postprocessor_config_hash": {"string_value": ""},
        "max_feature_count": {"string_value": "12"},
        "intra_op_threads": {"string_value": "0"},
        "somebody_elses": {"string_value": "x"},
    }
    assert read_settings(TENSORS | {"parameters": parameters}) == Settings({"preprocessor": "sha256:1"}, 12, 0)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"input": []}, r"names the inputs \[\], this model serves \['TEXT'\]"),
        ({"output": TENSORS["output"][:1]}, r"names the outputs \['LABEL'\], this model serves \['LABEL', 'SCORES'\]"),
        ({"input": [{"name": "TEXT", "data_type": "TYPE_INT64"}]}, "gives input TEXT the type TYPE_INT64"),
        ({"parameters": {"max_feature_count": {"string_value": "0"}}}, "parameter max_feature_count is '0'"),
        ({"parameters": {"max_feature_count": {"string_value": "-1"}}}, "parameter max_feature_count is '-1'"),
        ({"parameters": {"intra_op_threads": {"string_value": "²"}}}, "parameter intra_op_threads is '²'"),
    ],
)
def test_a_config_that_is_not_served_is_refused(config, message):
    with pytest.raises(LoadRefused, match=message):
        read_settings(TENSORS | config)
