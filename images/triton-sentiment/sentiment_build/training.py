"""Trains the linear head on the encoder's pooled features and calibrates it."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from sentiment_build.artifact import write_steps
from sentiment_build.corpus import LABELS, THRESHOLD, Sentence, Split, read_corpus
from sentiment_build.graph import FEATURES, assemble
from sentiment_build.regression import (
    Float64,
    Head,
    Int64,
    cross_entropy,
    fit,
    fit_temperature,
    measure,
)
from sentiment_build.sources import encoder_bytes, tokenizer_json

from preprocess import Preprocessor  # isort: skip - on the path by artifact

L2_CHOICES = (0.3, 1.0, 3.0, 10.0, 30.0)
DECIMALS = 4
_BATCH = 32


def train(sdist: Path) -> dict[str, Any]:
    """Return the content of head.json; see the module ``corpus`` for the data and the split."""
    sentences = read_corpus(sdist)
    features = embed([sentence.text for sentence in sentences])
    labels = np.array([sentence.label for sentence in sentences], dtype=np.int64)
    rows = {split: _rows(sentences, split) for split in Split}
    fitting, tuning, testing = (rows[s] for s in (Split.TRAIN, Split.CALIBRATE, Split.TEST))
    heads = {l2: _fit_rounded(features[fitting], labels[fitting], l2) for l2 in L2_CHOICES}
    losses = {l2: cross_entropy(head.logits(features[tuning]), labels[tuning]) for l2, head in heads.items()}
    l2 = min(L2_CHOICES, key=lambda choice: losses[choice])
    head = heads[l2]
    temperature = fit_temperature(head.logits(features[tuning]), labels[tuning])
    held_out = head.logits(features[testing])
    return {
        "labels": list(LABELS),
        "weights": head.weights.tolist(),
        "bias": head.bias.tolist(),
        "calibrator": {
            "labels": list(LABELS),
            "method": "temperature",
            "temperature": temperature,
            "version": "score_calibrator_v1.0.0",
        },
        "training": {
            "l2": l2,
            "decimals": DECIMALS,
            "threshold": THRESHOLD,
            "sentences": {split.value: len(rows[split]) for split in Split},
            "articles": {split.value: len({s.article for s in sentences if s.split is split}) for split in Split},
        },
        "held_out": {
            **asdict(measure(held_out, labels[testing])),
            "cross_entropy_raw": cross_entropy(held_out, labels[testing]),
            "cross_entropy_calibrated": cross_entropy(held_out / temperature, labels[testing]),
        },
    }


def embed(texts: Sequence[str]) -> Float64:
    """Return pooled features, float64 [n, 384], through the product's own preprocessor."""
    with tempfile.TemporaryDirectory() as folder:
        write_steps(Path(folder), {}, tokenizer_json())
        preprocessor = Preprocessor(Path(folder) / "preprocessor")
    tokens = [preprocessor.tokenize(text.encode()).ids for text in texts]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the order of additions, and so the last digits, is fixed
    session: Any = onnxruntime.InferenceSession(
        assemble(encoder_bytes(), None), options, providers=["CPUExecutionProvider"]
    )
    features = np.zeros((len(texts), FEATURES))
    by_length = sorted(range(len(texts)), key=lambda index: (len(tokens[index]), index))
    for start in range(0, len(texts), _BATCH):
        chosen = by_length[start : start + _BATCH]
        input_ids, attention_mask = preprocessor.pad([tokens[index] for index in chosen])
        feeds = {"input_ids": input_ids, "attention_mask": attention_mask}
        features[chosen] = session.run(["features"], feeds)[0]
    return features


def _fit_rounded(features: Float64, labels: Int64, l2: float) -> Head:
    head = fit(features, labels, len(LABELS), l2)
    return Head(head.weights.round(DECIMALS), head.bias.round(DECIMALS))


def _rows(sentences: Sequence[Sentence], split: Split) -> Int64:
    return np.array([i for i, s in enumerate(sentences) if s.split is split], dtype=np.int64)
