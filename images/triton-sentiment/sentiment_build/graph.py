"""Joins encoder, mean pooling and head into one ONNX graph."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 10
FEATURES = 384
_HIDDEN = "last_hidden_state"


@dataclass(frozen=True)
class HeadWeights:
    """Float32 weights [3, 384] and bias [3], or None to end the graph at the pooled features."""

    weights: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]


def assemble(encoder: bytes, head: HeadWeights | None) -> bytes:
    """Return the serialized model: ``input_ids``, ``attention_mask`` -> ``logits``.

    Both inputs are int64 [batch, sequence] with free axes; ``logits`` is float32 [batch, 3].
    Without a head the output is ``features``, float32 [batch, 384]. The bytes depend on the
    arguments and the pinned onnx and protobuf releases only.

    Raises:
        onnx.checker.ValidationError: the result is not valid ONNX.
        ValueError: the encoder is not the graph this was written for.
    """
    model = onnx.load_from_string(encoder)
    graph = model.graph
    inputs = {value.name: value for value in graph.input}
    opsets = {(entry.domain, entry.version) for entry in model.opset_import}
    if opsets != {("", OPSET)} or [value.name for value in graph.output] != [_HIDDEN]:
        raise ValueError(f"unexpected encoder: opsets {opsets}, outputs {graph.output}")
    tail = _pooling()
    width, name = FEATURES, "features"
    initializers = [
        numpy_helper.from_array(np.array([1], dtype=np.int64), "pool/sequence_axis"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "pool/hidden_axis"),
    ]
    if head is not None:
        tail.append(
            helper.make_node("Gemm", ["features", "head/weights", "head/bias"], ["logits"], "head/Gemm", transB=1)
        )
        initializers.append(numpy_helper.from_array(head.weights, "head/weights"))
        initializers.append(numpy_helper.from_array(head.bias, "head/bias"))
        width, name = len(head.bias), "logits"
    joined = helper.make_graph(
        [*_token_types(), *graph.node, *tail],
        "news_sentiment",
        [inputs["input_ids"], inputs["attention_mask"]],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])],
        [*graph.initializer, *initializers],
        doc_string="MiniLM sentence encoder, mean pooling, linear sentiment head",
    )
    result = helper.make_model(
        joined,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="inferenceversion-operator",
    )
    onnx.checker.check_model(result, full_check=True)
    return bytes(result.SerializeToString(deterministic=True))


def _token_types() -> list[onnx.NodeProto]:
    """One sentence has token type 0 throughout: made here, so callers need not send it."""
    zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
    return [
        helper.make_node("Shape", ["input_ids"], ["types/shape"], "types/Shape"),
        helper.make_node("ConstantOfShape", ["types/shape"], ["token_type_ids"], "types/Zeros", value=zero),
    ]


def _pooling() -> list[onnx.NodeProto]:
    """Mean of the hidden states over the tokens that are no padding."""
    node = helper.make_node
    return [
        node("Cast", ["attention_mask"], ["pool/mask"], "pool/Cast", to=TensorProto.FLOAT),
        node("Unsqueeze", ["pool/mask", "pool/hidden_axis"], ["pool/mask3"], "pool/Unsqueeze"),
        node("Mul", [_HIDDEN, "pool/mask3"], ["pool/kept"], "pool/Mul"),
        node("ReduceSum", ["pool/kept", "pool/sequence_axis"], ["pool/sum"], "pool/Sum", keepdims=0),
        node(
            "ReduceSum",
            ["pool/mask", "pool/sequence_axis"],
            ["pool/count"],
            "pool/Count",
            keepdims=1,
        ),
        node("Div", ["pool/sum", "pool/count"], ["features"], "pool/Div"),
    ]
