"""Messages of gRPC's ``ModelInfer``."""

from typing import Any

from google.protobuf.message import DecodeError

from inferenceversion_operator.differ.wire.kserve_proto import ModelInferRequest, ModelInferResponse
from inferenceversion_operator.differ.wire.tensors import (
    SIZES,
    UndecodableError,
    Values,
    from_binary,
    from_elements,
    read_shape,
)

# Where the elements of a datatype are if they are not sent as bytes.
_CONTENTS = {
    "BOOL": "bool_contents",
    **dict.fromkeys(("INT8", "INT16", "INT32"), "int_contents"),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "uint_contents"),
    "INT64": "int64_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


def decode_outputs(message: bytes) -> dict[str, Values]:
    """Return the outputs of a ``ModelInferResponse``, by name.

    Raises:
        UndecodableError: it is no answer of the protocol.
    """
    parsed = _parse(ModelInferResponse, message)
    raw = list(parsed.raw_output_contents)
    if raw and len(raw) != len(parsed.outputs):
        raise UndecodableError("there are not as many raw contents as outputs")
    found: dict[str, Values] = {}
    for index, tensor in enumerate(parsed.outputs):
        if tensor.name in found:
            raise UndecodableError("two outputs have one name")
        shape = read_shape(tensor.shape)
        if raw:
            found[tensor.name] = from_binary(tensor.datatype, shape, raw[index])
        else:
            found[tensor.name] = from_elements(tensor.datatype, shape, _contents(tensor))
    return found


def input_bytes(message: bytes) -> int:
    """Return how many bytes the inputs of a ``ModelInferRequest`` have; of an unreadable one its length."""
    try:
        parsed = _parse(ModelInferRequest, message)
        if parsed.raw_input_contents:
            return sum(len(raw) for raw in parsed.raw_input_contents)
        return sum(_content_bytes(tensor) for tensor in parsed.inputs)
    except UndecodableError:
        return len(message)


def _parse(kind: Any, message: bytes) -> Any:
    try:
        return kind.FromString(message)
    except DecodeError:
        raise UndecodableError("the message is no protobuf of ModelInfer") from None


def _contents(tensor: Any) -> list[Any]:
    field = _CONTENTS.get(tensor.datatype)
    if field is None:
        raise UndecodableError("a datatype has no contents of its own")
    return list(getattr(tensor.contents, field))


def _content_bytes(tensor: Any) -> int:
    elements = _contents(tensor)
    if tensor.datatype == "BYTES":
        return sum(len(text) for text in elements)
    return len(elements) * SIZES[tensor.datatype]
