"""Multinomial logistic regression by Newton's method, its calibration and its measures.

The loss is convex and the steps are exact, so there is no seed, no order of samples and no
stopping rule that a machine could influence beyond the last digits of its arithmetic.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
_STEPS = 30
_DONE = 1e-10


@dataclass(frozen=True)
class Head:
    """``logits = features @ weights.T + bias``; weights float64 [classes, d], bias [classes]."""

    weights: Float64
    bias: Float64

    def logits(self, features: Float64) -> Float64:
        """Return float64 [n, classes] for features [n, d]."""
        out: Float64 = features @ self.weights.T + self.bias
        return out


@dataclass(frozen=True)
class Measures:
    """How good the predictions of one split are; all shares in 0..1."""

    accuracy: float
    macro_f1: float
    majority: float
    recall: tuple[float, ...]
    samples: int


def softmax(logits: Float64) -> Float64:
    """Return probabilities [n, classes]."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    out: Float64 = weights / weights.sum(axis=1, keepdims=True)
    return out


def fit(features: Float64, labels: Int64, classes: int, l2: float) -> Head:
    """Minimise the summed cross-entropy + l2/2 * |weights|^2 (the bias is nearly free).

    Raises:
        ArithmeticError: Newton's method did not settle.
    """
    samples = np.hstack([features, np.ones((len(features), 1))])
    width = samples.shape[1]
    target = np.eye(classes)[labels]
    penalty = np.full((classes, width), l2)
    penalty[:, -1] = 1e-3  # fixes the one free direction of a softmax
    theta = np.zeros((classes, width))
    for _ in range(_STEPS):
        probability = softmax(samples @ theta.T)
        gradient = (probability - target).T @ samples + penalty * theta
        hessian = np.diag(penalty.reshape(-1))
        for row in range(classes):
            for column in range(classes):
                share = probability[:, row] * (float(row == column) - probability[:, column])
                block = samples.T @ (samples * share[:, None])
                hessian[row * width : (row + 1) * width, column * width : (column + 1) * width] += block
        step = np.linalg.solve(hessian, gradient.reshape(-1)).reshape(theta.shape)
        theta -= step
        if float(np.abs(step).max()) < _DONE:
            return Head(weights=theta[:, :-1], bias=theta[:, -1])
    raise ArithmeticError(f"no minimum after {_STEPS} steps")


def cross_entropy(logits: Float64, labels: Int64) -> float:
    """Return the mean negative log-probability of the true labels."""
    chosen = softmax(logits)[np.arange(len(labels)), labels]
    return float(-np.log(chosen).mean())


def fit_temperature(logits: Float64, labels: Int64) -> float:
    """Return the temperature of 0.50, 0.51, .. 3.00 with the least cross-entropy."""
    grid = [step / 100 for step in range(50, 301)]
    return min(grid, key=lambda temperature: cross_entropy(logits / temperature, labels))


def measure(logits: Float64, labels: Int64) -> Measures:
    """Compare the best class of each row with its label."""
    predicted = logits.argmax(axis=1)
    classes = range(logits.shape[1])
    hits = [int(((predicted == c) & (labels == c)).sum()) for c in classes]
    actual = [int((labels == c).sum()) for c in classes]
    claimed = [int((predicted == c).sum()) for c in classes]
    f1 = [2 * h / max(a + p, 1) for h, a, p in zip(hits, actual, claimed, strict=True)]
    return Measures(
        accuracy=sum(hits) / len(labels),
        macro_f1=sum(f1) / len(f1),
        majority=max(actual) / len(labels),
        recall=tuple(h / max(a, 1) for h, a in zip(hits, actual, strict=True)),
        samples=len(labels),
    )
