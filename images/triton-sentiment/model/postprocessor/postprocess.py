"""Postprocessor: logits -> calibrated scores and the label.

``calibrator.json`` beside it is the whole of its behaviour; the two files together are
what ``postprocessor.configHash`` covers.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]


class Postprocessor:
    """Softmax with a temperature, and the name of the best class."""

    def __init__(self, folder: Path, labels: tuple[str, ...]) -> None:
        """Read the calibration for the classes ``labels``, in the order of the logits.

        Raises:
            ValueError: the calibration was made for other labels or another order, or its
                temperature is not above zero.
        """
        config: dict[str, Any] = json.loads((folder / "calibrator.json").read_text("utf-8"))
        if tuple(config["labels"]) != labels:
            raise ValueError(f"calibrator.json is for the labels {config['labels']}, the model has {list(labels)}")
        self.version = str(config["version"])
        self._temperature = float(config["temperature"])
        if not self._temperature > 0:
            raise ValueError(f"temperature {self._temperature} in calibrator.json is not above 0")
        self._labels = labels

    def scores(self, logits: npt.ArrayLike) -> Float32:
        """Return the calibrated probabilities, float32 [n, classes]; each row sums to 1."""
        scaled = np.asarray(logits, dtype=np.float64) / self._temperature
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        scores: Float32 = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        return scores

    def label(self, scores: Float32) -> list[str]:
        """Return the best label of each row of ``scores``; the first one on a tie."""
        return [self._labels[index] for index in scores.argmax(axis=1)]
