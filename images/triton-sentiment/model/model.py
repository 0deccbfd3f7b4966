"""Triton Python backend entry of the model ``news_sentiment``.

A shell only: it turns Triton's requests into lists of bytes for ``SentimentPipeline`` and
its results into Triton's responses. Input ``TEXT`` BYTES [1]; outputs ``LABEL`` BYTES [1]
and ``SCORES`` FP32 [3] in the order of ``labels.json``.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # a __pycache__ in the artifact would change its hash

import numpy as np  # noqa: E402
import triton_python_backend_utils as pb_utils  # noqa: E402
from sentiment_pipeline import INPUT, Answer, LoadRefused, Refusal, SentimentPipeline  # noqa: E402
from serving_config import read_settings  # noqa: E402


class TritonPythonModel:
    """The class Triton's Python backend looks for."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the artifact this file lies in; raise, and so refuse to load, if it differs."""
        try:
            settings = read_settings(json.loads(args["model_config"]))
            self._pipeline = SentimentPipeline(Path(__file__).resolve().parent, settings)
        except LoadRefused as error:
            # One short line without a traceback: it has to fit into a container's termination message.
            raise pb_utils.TritonModelException(str(error)) from None

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer a batch of requests, each of one or more texts, in one run of the model."""
        return [_response(result) for result in self._pipeline.run([_texts(r) for r in requests])]


def _texts(request: Any) -> list[bytes]:
    values = pb_utils.get_input_tensor_by_name(request, INPUT).as_numpy().reshape(-1)
    return [bytes(value) for value in values]


def _response(result: Answer | Refusal) -> Any:
    if isinstance(result, Refusal):
        error = pb_utils.TritonError(result.message, pb_utils.TritonError.INVALID_ARG)
        return pb_utils.InferenceResponse(error=error)
    labels = np.array([[label.encode()] for label in result.labels], dtype=np.object_)
    return pb_utils.InferenceResponse(
        output_tensors=[
            pb_utils.Tensor("LABEL", labels),
            pb_utils.Tensor("SCORES", result.scores),
        ]
    )
