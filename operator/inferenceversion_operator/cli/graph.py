"""Reads an ONNX file; the only file that knows the onnx package, which is imported when a graph is looked at."""

from pathlib import Path
from typing import Any

from inferenceversion_operator.api.types import Tensor
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.views.checks import Graph

# ONNX's name of an element type -> that of the KServe v2 protocol.
_DATATYPES = {
    "BOOL": "BOOL",
    "FLOAT16": "FP16",
    "FLOAT": "FP32",
    "DOUBLE": "FP64",
    "BFLOAT16": "BF16",
    "STRING": "BYTES",
    **{f"{sign}INT{bits}": f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}


def read_graph(path: Path, name: str) -> Graph:
    """Check the file in full and return what it says.

    Args:
        path: the file; external data is looked for beside it.
        name: how to call it.

    Raises:
        UserError: the onnx package is not installed.
    """
    onnx = _onnx()
    try:
        onnx.checker.check_model(str(path), full_check=True)  # by path, so that more than 2 GiB are no obstacle
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # noqa: BLE001 - the checker, protobuf and shape inference raise what they like
        return Graph(name, None, (), (), problem=" ".join(str(error).split())[:500] or type(error).__name__)
    weights = {initializer.name for initializer in model.graph.initializer}
    return Graph(
        name,
        opset=next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None),
        inputs=tuple(_tensor(onnx, value) for value in model.graph.input if value.name not in weights),
        outputs=tuple(_tensor(onnx, value) for value in model.graph.output),
    )


def _onnx() -> Any:
    try:
        import onnx  # noqa: PLC0415 - slow to import, and needed here alone
        import onnx.checker  # noqa: PLC0415
    except ImportError as error:
        message = "the onnx package is not installed: pip install 'inferenceversion-operator[cli]'"
        raise UserError(message, ExitCode.USAGE) from error
    return onnx


def _tensor(onnx: Any, value: Any) -> Tensor:
    kind = value.type.tensor_type
    element = onnx.TensorProto.DataType.Name(kind.elem_type)
    # A dimension that is named, or not stated, is free.
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim)
    return Tensor(value.name, _DATATYPES.get(element, element), shape)
