"""Preprocessor and postprocessor: tables of what goes in and what comes out."""

import json
import shutil

import numpy as np
import pytest
from postprocess import Postprocessor
from preprocess import BadInput, Preprocessor

LABELS = ("negative", "neutral", "positive")


@pytest.fixture(scope="module")
def preprocessor(artifact):
    return Preprocessor(artifact / "preprocessor")


def changed(artifact, folder, **config):
    shutil.copytree(artifact / "preprocessor", folder)
    before = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(before | config))
    return Preprocessor(folder)


@pytest.mark.parametrize(
    ("text", "ids", "features"),
    [
        ("markets", (101, 6089, 102), 1),
        ("Markets", (101, 6089, 102), 1),
        ("Markets rally", (101, 6089, 8320, 102), 2),
        ("  markets \n", (101, 6089, 102), 1),
        ("café", (101, 7668, 102), 1),
    ],
)
def test_tokens_of_a_text(preprocessor, text, ids, features):
    tokens = preprocessor.tokenize(text.encode())
    assert (tokens.ids, tokens.features) == (ids, features)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "empty text"),
        (b" \n\t", "empty text"),
        (b"\x00\x01", "empty text"),
        (b"\xff", "not valid UTF-8 (invalid start byte at byte 0)"),
        (b"caf\xc3", "not valid UTF-8 (unexpected end of data at byte 3)"),
        ("markets".encode("utf-16"), "not valid UTF-8 (invalid start byte at byte 0)"),
    ],
)
def test_bad_text_is_named(preprocessor, raw, message):
    with pytest.raises(BadInput) as refused:
        preprocessor.tokenize(raw)
    assert str(refused.value) == message


@pytest.mark.parametrize(("words", "length"), [(61, 63), (62, 64), (63, 64), (5000, 64)])
def test_a_long_text_is_cut_but_counted_whole(preprocessor, words, length):
    tokens = preprocessor.tokenize(b"word " * words)
    assert tokens.features == words
    assert len(tokens.ids) == length
    assert (tokens.ids[0], tokens.ids[-1]) == (101, 102)


def test_rows_are_padded_to_the_longest(preprocessor):
    input_ids, attention_mask = preprocessor.pad([(101, 5, 102), (101, 102)])
    assert input_ids.tolist() == [[101, 5, 102], [101, 102, 0]]
    assert attention_mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert (input_ids.dtype, attention_mask.dtype) == (np.int64, np.int64)


def test_the_config_alone_decides_the_tokens(artifact, tmp_path, preprocessor):
    cased = changed(artifact, tmp_path / "cased", lowercase=False)
    short = changed(artifact, tmp_path / "short", max_length=3)
    assert cased.tokenize(b"Markets").ids != preprocessor.tokenize(b"Markets").ids
    assert short.tokenize(b"Markets rally").ids == (101, 6089, 102)


def test_an_unknown_normalizer_is_refused(artifact, tmp_path):
    with pytest.raises(ValueError, match="'latin': bert or "):
        changed(artifact, tmp_path / "other", normalizer="latin")


def write_calibrator(folder, temperature=1.0, labels=LABELS):
    content = {"labels": list(labels), "method": "temperature", "temperature": temperature, "version": "v"}
    (folder / "calibrator.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("temperature", "logits", "scores"),
    [
        (1.0, [0, 0, 0], [1 / 3, 1 / 3, 1 / 3]),
        (1.0, [np.log(2), 0, 0], [0.5, 0.25, 0.25]),
        (2.0, [2 * np.log(2), 0, 0], [0.5, 0.25, 0.25]),
        (1.0, [1000, 0, 0], [1, 0, 0]),
    ],
)
def test_scores_of_logits(tmp_path, temperature, logits, scores):
    write_calibrator(tmp_path, temperature)
    found = Postprocessor(tmp_path, LABELS).scores([logits])
    assert found.dtype == np.float32
    assert found[0] == pytest.approx(scores, abs=1e-6)


def test_the_best_score_names_the_label_and_the_first_wins_a_tie(tmp_path):
    write_calibrator(tmp_path)
    scores = np.array([[0.1, 0.2, 0.7], [0.4, 0.4, 0.2]], dtype=np.float32)
    assert Postprocessor(tmp_path, LABELS).label(scores) == ["positive", "negative"]


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        ({"labels": LABELS[::-1]}, "is for the labels"),
        ({"temperature": 0}, "not above 0"),
        ({"temperature": float("nan")}, "not above 0"),
    ],
)
def test_a_calibration_that_cannot_be_meant_is_refused(tmp_path, calibrator, message):
    write_calibrator(tmp_path, **calibrator)
    with pytest.raises(ValueError, match=message):
        Postprocessor(tmp_path, LABELS)
