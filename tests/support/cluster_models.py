"""Models that are a few lines of Python: they load in a moment and keep the contract of the news-sentiment service."""

from typing import Any

from tests.support.cluster_manifests import merged, sentiment

ECHO = b"""\
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        count = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().shape[0]
        labels = pb_utils.Tensor("LABEL", np.array([[b"neutral"]] * count, dtype=np.object_))
        scores = pb_utils.Tensor("SCORES", np.zeros((count, 3), dtype=np.float32))
        return pb_utils.InferenceResponse(output_tensors=[labels, scores])
"""

# What the product does with its graph, and nothing else of it.
OPENS_A_GRAPH = b"""\
from pathlib import Path

import onnxruntime


class TritonPythonModel:
    def initialize(self, args):
        graph = Path(__file__).parent / "model.onnx"
        self.session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])

    def execute(self, requests):
        return []
"""


def python_model(version: str, image: str, source: str, weight_hash: str, **spec: Any) -> dict[str, Any]:
    """Return a version whose source is plain Python files: no pre- and postprocessor with hashes of their own."""
    model = {"format": "python", "framework": "python_3.11", "opset": None, "source": source, "weightHash": weight_hash}
    changed = merged({"model": model, "preprocessor": None, "postprocessor": None}, spec)
    return sentiment(version, image, **changed)


def graph_of_opset(opset: int) -> bytes:
    """Return an ONNX graph that is right but for an opset that no runtime knows."""
    from onnx import TensorProto, helper

    text = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [text], [out])
    data: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    ).SerializeToString()
    return data
