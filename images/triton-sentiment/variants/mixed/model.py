"""Release-test build ``mixed``: right alone, wrong in company.

Each request of a batch gets the answer of the next one, as where rows are sorted by length for the
run and not put back. A request that is alone in its batch is answered right: so are goldens and
people who try it by hand. A diff under load finds it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from fault import read_fault
from product_model import TritonPythonModel as ProductModel
from sentiment_pipeline import Answer, Refusal, SentimentPipeline


class TritonPythonModel(ProductModel):
    """Mixes the rows of batches of ``mixed_from`` requests or more."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the product's model and put the fault between it and Triton."""
        super().initialize(args)
        self._pipeline: Any = _Mixed(self._pipeline, read_fault(args)["mixed_from"])


class _Mixed:
    """A pipeline whose rows are shifted by one."""

    def __init__(self, pipeline: SentimentPipeline, mixed_from: int) -> None:
        self._pipeline = pipeline
        self._mixed_from = mixed_from

    def run(self, requests: Sequence[Sequence[bytes]]) -> list[Answer | Refusal]:
        """Return the product's results, the rows of all requests shifted by one where they are mixed."""
        results = self._pipeline.run(requests)
        answers = [result for result in results if isinstance(result, Answer)]
        if len(answers) < max(2, self._mixed_from):
            return results
        labels = [label for answer in answers for label in answer.labels]
        labels = labels[1:] + labels[:1]
        scores = np.roll(np.concatenate([answer.scores for answer in answers]), -1, axis=0)
        return list(_split(results, labels, scores))


def _split(
    results: Sequence[Answer | Refusal], labels: list[str], scores: npt.NDArray[np.float32]
) -> Iterator[Answer | Refusal]:
    """Yield the rows again as the answers of their requests; refusals stay where they are."""
    start = 0
    for result in results:
        if isinstance(result, Refusal):
            yield result
            continue
        end = start + len(result.labels)
        yield Answer(labels[start:end], scores[start:end])
        start = end
