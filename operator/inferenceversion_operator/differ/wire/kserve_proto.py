"""The messages of KServe v2's ``ModelInfer`` as far as they are read here; other fields are passed over.

They are put together from a table instead of being generated, so that no compiler and no generated file is needed.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "inference"
# message -> (field, number, type, repeated); a type in capitals is a scalar, any other a message.
_MESSAGES: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "InferTensorContents": (
        ("bool_contents", 1, "BOOL", True),
        ("int_contents", 2, "INT32", True),
        ("int64_contents", 3, "INT64", True),
        ("uint_contents", 4, "UINT32", True),
        ("uint64_contents", 5, "UINT64", True),
        ("fp32_contents", 6, "FLOAT", True),
        ("fp64_contents", 7, "DOUBLE", True),
        ("bytes_contents", 8, "BYTES", True),
    ),
    "Tensor": (
        ("name", 1, "STRING", False),
        ("datatype", 2, "STRING", False),
        ("shape", 3, "INT64", True),
        ("contents", 5, "InferTensorContents", False),
    ),
    "ModelInferRequest": (
        ("model_name", 1, "STRING", False),
        ("inputs", 5, "Tensor", True),
        ("raw_input_contents", 7, "BYTES", True),
    ),
    "ModelInferResponse": (
        ("model_name", 1, "STRING", False),
        ("outputs", 5, "Tensor", True),
        ("raw_output_contents", 6, "BYTES", True),
    ),
}


def _field(name: str, number: int, kind: str, *, repeated: bool) -> descriptor_pb2.FieldDescriptorProto:
    label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    if not kind.isupper():
        message = f".{_PACKAGE}.{kind}"
        return _FIELD(name=name, number=number, label=label, type=_FIELD.TYPE_MESSAGE, type_name=message)
    return _FIELD(name=name, number=number, label=label, type=_FIELD.Type.Value(f"TYPE_{kind}"))


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="differ/infer.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        file.message_type.add(
            name=name,
            field=[_field(field, number, kind, repeated=repeated) for field, number, kind, repeated in fields],
        )
    pool = descriptor_pool.DescriptorPool()  # of our own: another library may know the same names
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES
    }


_made = _classes()
ModelInferRequest: Any = _made["ModelInferRequest"]
ModelInferResponse: Any = _made["ModelInferResponse"]
