"""Training: the corpus, the solver against known answers, and the checked-in head against a new training."""

import json
import subprocess
import sys

import numpy as np
import pytest
import real_triton
from sentiment_build import regression
from sentiment_build.corpus import SDIST_SHA256, Sentence, Split, parse_corpus
from sentiment_build.training import DECIMALS, train

prepare = real_triton.prepare


@pytest.mark.parametrize(("grade", "label"), [(-4, 0), (-0.5, 0), (-0.49, 1), (0, 1), (0.49, 1), (0.5, 2), (4, 2)])
def test_grades_become_classes(grade, label):
    assert Sentence("1", grade, "text").label == label


def test_lines_of_the_corpus_are_read():
    assert parse_corpus("12_3\t-1.5\tA text, with\u0020commas.\r\n") == [Sentence("12", -1.5, "A text, with commas.")]


def test_an_article_is_in_one_split_whole():
    splits = {Sentence(str(article), 0, "").split for article in range(100)}
    assert splits == set(Split)
    assert Sentence("7", -1, "one").split is Sentence("7", 2, "two").split


def test_the_solver_finds_the_minimum():
    rng = np.random.default_rng(7)
    features, labels = rng.normal(size=(200, 4)), rng.integers(0, 3, 200)
    head = regression.fit(features, labels, 3, l2=0.5)
    probability = regression.softmax(head.logits(features))
    gradient = (probability - np.eye(3)[labels]).T @ features + 0.5 * head.weights
    assert np.abs(gradient).max() < 1e-8


def test_the_solver_learns_what_can_be_learnt():
    rng = np.random.default_rng(7)
    labels = np.repeat([0, 1, 2], 30)
    features = np.eye(3)[labels] * 5 + rng.normal(size=(90, 3))
    found = regression.measure(regression.fit(features, labels, 3, l2=1.0).logits(features), labels)
    assert found.accuracy > 0.95


def test_measures_of_a_known_table():
    logits = np.eye(3)[[0, 0, 1, 1]]
    found = regression.measure(logits, np.array([0, 1, 1, 1]))
    assert found.accuracy == 0.75
    assert found.majority == 0.75
    assert found.recall == pytest.approx((1, 2 / 3, 0))
    assert found.macro_f1 == pytest.approx((2 / 3 + 4 / 5 + 0) / 3)


def test_overconfident_logits_get_a_temperature_above_one():
    logits, labels = np.array([[4.0, 0, 0]] * 10), np.array([0] * 7 + [1] * 3)
    assert regression.fit_temperature(logits, labels) > 1
    assert regression.fit_temperature(logits / 10, np.zeros(10, dtype=np.int64)) < 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_training_again_gives_the_checked_in_head(tmp_path):
    download = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary=:all:",
        "--require-hashes",
    ]
    requirements = real_triton.IMAGE / "train-requirements.txt"
    subprocess.run([*download, "-r", str(requirements), "-d", str(tmp_path)], check=True)
    (sdist,) = tmp_path.glob("*.zip")
    assert SDIST_SHA256 in requirements.read_text()
    again, checked_in = train(sdist), json.loads((real_triton.IMAGE / "head.json").read_text())
    # Another CPU adds in another order: the last kept digit may differ by one.
    assert np.array(again["weights"]) == pytest.approx(np.array(checked_in["weights"]), abs=1.1 * 10**-DECIMALS)
    assert again["calibrator"] == checked_in["calibrator"]
    assert again["training"] == checked_in["training"]
    assert again["held_out"]["accuracy"] == pytest.approx(checked_in["held_out"]["accuracy"], abs=0.003)
