"""Bodies of HTTP: JSON, and behind it the tensors that are sent as bytes (Triton's binary data extension)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from inferenceversion_operator.differ.wire.tensors import (
    SIZES,
    UndecodableError,
    Values,
    flat,
    from_binary,
    from_elements,
    read_shape,
)

HEADER_LENGTH = "inference-header-content-length"
_TENSORS = 1024
_JSON_MOST = 16 << 20  # in memory it is up to 24 times as large
_JSON_PARSED = 1 << 20  # bytes of a request's JSON beyond which its length alone says how long the inputs are


def decode_outputs(body: bytes, header_length: int | None) -> dict[str, Values]:
    """Return the outputs of an answer, by name.

    Args:
        body: the whole body.
        header_length: how much of it is JSON, as the header ``Inference-Header-Content-Length`` says; None: all.

    Raises:
        UndecodableError: it is no answer of the protocol.
    """
    document, binary = _parsed(body, header_length)
    found: dict[str, Values] = {}
    at = 0
    for name, fields in _tensors(document, "outputs"):
        datatype, shape = fields.get("datatype"), read_shape(fields.get("shape"))
        if not isinstance(datatype, str) or name in found:
            raise UndecodableError("an output has no datatype, or a name that another one has")
        size = _binary_size(fields)
        if size is None:
            found[name] = from_elements(datatype, shape, _elements(datatype, shape, fields.get("data")))
            continue
        if at + size > len(binary):
            raise UndecodableError("an output has more bytes than there are")
        found[name] = from_binary(datatype, shape, binary[at : at + size])
        at += size
    if at != len(binary):
        raise UndecodableError("there are more bytes than outputs have")
    return found


def input_bytes(body: bytes, header_length: int | None) -> int:
    """Return how many bytes the inputs of a request have: elements and the text of strings, no JSON around them.

    Of a request that can't be read it is the body's length, which is also the measure for very long JSON.
    """
    if header_length is not None and 0 <= header_length <= len(body):
        binary = len(body) - header_length
        if binary:
            return binary
    if len(body) > _JSON_PARSED:
        return len(body)
    try:
        document, _ = _parsed(body, None)
        return sum(_input_bytes(fields) for _, fields in _tensors(document, "inputs"))
    except UndecodableError:
        return len(body)


def _input_bytes(fields: Mapping[str, Any]) -> int:
    datatype, shape = str(fields.get("datatype")), read_shape(fields.get("shape"))
    elements = flat(fields.get("data"), len(shape))
    if datatype == "BYTES":
        return sum(len(text) for text in map(_text, elements))
    return len(elements) * SIZES.get(datatype, 1)


def _parsed(body: bytes, header_length: int | None) -> tuple[Any, bytes]:
    length = len(body) if header_length is None else header_length
    if not 0 <= length <= len(body):
        raise UndecodableError("the JSON is said to be longer than the body")
    if length > _JSON_MOST:
        raise UndecodableError(f"the JSON is longer than {_JSON_MOST} bytes")
    try:
        # What is no UTF-8 stays apart from what is: strings of BYTES may hold anything.
        return json.loads(body[:length].decode("utf-8", "surrogateescape")), body[length:]
    except (ValueError, RecursionError):
        raise UndecodableError("the body is no JSON") from None


def _tensors(document: Any, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    entries = document.get(key) if isinstance(document, dict) else None
    if not isinstance(entries, list) or len(entries) > _TENSORS:
        raise UndecodableError(f"the body has no {key}, or too many")
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise UndecodableError(f"an entry of {key} has no name")
        yield entry["name"], entry


def _binary_size(fields: Mapping[str, Any]) -> int | None:
    """Return the tensor's bytes behind the JSON; None where its elements are in the JSON."""
    parameters = fields.get("parameters")
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    if size is not None and (type(size) is not int or size < 0):
        raise UndecodableError("binary_data_size is no size")
    return size


def _elements(datatype: str, shape: tuple[int, ...], data: Any) -> list[Any]:
    elements = flat(data, len(shape))
    return [_text(element) for element in elements] if datatype == "BYTES" else elements


def _text(element: Any) -> bytes:
    if not isinstance(element, str):
        raise UndecodableError("an element of BYTES is no string")
    try:
        return element.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return element.encode("utf-8", "surrogatepass")
