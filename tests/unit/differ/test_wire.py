"""Answers in every form become the same tensors; whatever else comes is refused, not believed."""

import contextlib
import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from inferenceversion_operator.differ.wire import grpc_v2, http_v2
from inferenceversion_operator.differ.wire.tensors import (
    SIZES,
    UndecodableError,
    from_binary,
    from_elements,
    read_shape,
)
from tests.unit.differ.support import binary_answer, grpc_answer, json_answer

NUMPY = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
}


@pytest.mark.parametrize(("datatype", "kind"), NUMPY.items())
def test_binary_tensors_are_what_numpy_says(datatype, kind):
    array = np.array([[0, 1], [1, 100]], dtype=kind)
    values = from_binary(datatype, (2, 2), array.astype(array.dtype.newbyteorder("<")).tobytes())
    assert list(values.elements(0, 4)) == array.reshape(-1).tolist()
    assert from_elements(datatype, (2, 2), array.reshape(-1).tolist()) == values


@pytest.mark.parametrize(
    ("raw", "number"),
    [(b"\x80\x3f", 1.0), (b"\x00\xc0", -2.0), (b"\x80\x7f", math.inf), (b"\x80\xff", -math.inf), (b"\x00\x80", 0.0)],
)
def test_bf16_is_the_upper_half_of_fp32(raw, number):
    assert from_binary("BF16", (1,), raw).elements(0, 1) == (number,)
    assert from_binary("BF16", (3,), b"\x80\x3f" + raw + b"\x80\x3f").elements(1, 2) == (number,)


def test_an_fp16_that_is_no_number_stays_one():
    (value,) = from_binary("FP16", (1,), struct.pack("<e", math.nan)).elements(0, 1)
    assert math.isnan(value)


SAME = [
    http_v2.decode_outputs(json_answer(), None),
    http_v2.decode_outputs(*binary_answer()),
    grpc_v2.decode_outputs(grpc_answer()),
    grpc_v2.decode_outputs(grpc_answer(raw=False)),
]


@pytest.mark.parametrize("outputs", SAME, ids=["json", "binary", "grpc", "grpc-contents"])
def test_every_form_of_an_answer_is_the_same(outputs):
    assert outputs == SAME[0]
    assert outputs["LABEL"].data == (b"positive",)
    assert outputs["SCORES"].data == struct.pack("<3f", 0.1, 0.2, 0.7)


def test_json_may_be_nested_as_the_shape_is():
    outputs = [{"name": "A", "datatype": "INT64", "shape": [2, 2], "data": [[1, 2], [3, 4]]}]
    values = http_v2.decode_outputs(json.dumps({"outputs": outputs}).encode(), None)["A"]
    assert values.elements(0, 4) == (1, 2, 3, 4)


def test_json_may_hold_what_no_json_has():
    body = b'{"outputs":[{"name":"A","datatype":"FP32","shape":[3],"data":[NaN,Infinity,-Infinity]}]}'
    first, second, third = http_v2.decode_outputs(body, None)["A"].elements(0, 3)
    assert math.isnan(first)
    assert (second, third) == (math.inf, -math.inf)


@pytest.mark.parametrize("text", [b"\xff\xfe", b"caf\xc3\xa9", b"\xed\xa0\x80"])
def test_strings_in_json_are_their_bytes_even_where_they_are_no_utf8(text):
    body = b'{"outputs":[{"name":"A","datatype":"BYTES","shape":[1],"data":["' + text + b'"]}]}'
    assert http_v2.decode_outputs(body, None)["A"].data == (text,)


def test_half_a_pair_in_json_is_no_crash():
    body = b'{"outputs":[{"name":"A","datatype":"BYTES","shape":[1],"data":["\\ud800"]}]}'
    assert http_v2.decode_outputs(body, None)["A"].data == (b"\xed\xa0\x80",)


def _outputs(**changes):
    tensor = {"name": "A", "datatype": "FP32", "shape": [1], "data": [1.0]} | changes
    return json.dumps({"outputs": [tensor]}).encode()


HOSTILE = {
    "empty": (b"", None),
    "no JSON": (b"<html>", None),
    "deep": (b"[" * 200_000, None),
    "deep in data": (_outputs()[:-8] + b"[" * 200_000, None),
    "a number of many digits": (b'{"outputs":' + b"9" * 10_000 + b"}", None),
    "no object": (b"[]", None),
    "no outputs": (b"{}", None),
    "outputs are no list": (b'{"outputs":{"a":1}}', None),
    "an output is no object": (b'{"outputs":[1]}', None),
    "too many outputs": (b'{"outputs":[' + b"{}," * 2000 + b"{}]}", None),
    "no name": (_outputs(name=None), None),
    "no datatype": (_outputs(datatype=None), None),
    "an unknown datatype": (_outputs(datatype="FP8"), None),
    "BF16 in JSON": (_outputs(datatype="BF16"), None),
    "no shape": (_outputs(shape=None), None),
    "a shape of text": (_outputs(shape="1"), None),
    "a negative size": (_outputs(shape=[-1]), None),
    "a size that is true": (_outputs(shape=[True]), None),
    "many dimensions": (_outputs(shape=[1] * 100), None),
    "a huge shape": (_outputs(shape=[2**31 - 1] * 16), None),
    "a huge shape of strings": (_outputs(datatype="BYTES", shape=[2**31 - 1] * 16, data=["a"]), None),
    "no data": (_outputs(data=None), None),
    "too little data": (_outputs(shape=[2]), None),
    "too much data": (_outputs(shape=[0]), None),
    "data that is text": (_outputs(data="1"), None),
    "an element of text": (_outputs(data=["1"]), None),
    "an element of nothing": (_outputs(data=[None]), None),
    "an element beyond the datatype": (_outputs(datatype="INT8", data=[128]), None),
    "a float beyond the datatype": (_outputs(data=[1e300]), None),
    "a fraction for an integer": (_outputs(datatype="INT8", data=[0.5]), None),
    "a number for a string": (_outputs(datatype="BYTES", data=[1]), None),
    "nested deeper than the shape": (_outputs(data=[[[1.0]]]), None),
    "nested unevenly": (_outputs(shape=[2, 1], data=[[1.0], 2.0]), None),
    "JSON longer than the body": (json_answer(), 10_000),
    "JSON of negative length": (json_answer(), -1),
    "binary size that is text": (_outputs(parameters={"binary_data_size": "4"}), None),
    "binary size that is negative": (_outputs(parameters={"binary_data_size": -4}), None),
    "binary size beyond the body": (_outputs(parameters={"binary_data_size": 4}), None),
    "binary data of no tensor": (json_answer() + b"1234", len(json_answer())),
    "two of one name": (json.dumps({"outputs": json.loads(_outputs())["outputs"] * 2}).encode(), None),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_an_answer_that_is_none_is_refused(case):
    with pytest.raises(UndecodableError):
        http_v2.decode_outputs(*HOSTILE[case])


@pytest.mark.parametrize("raw", [b"", b"\x01", b"\x05\0\0\0abc", b"\xff\xff\xff\xffabc", b"\x01\0\0\0ab"])
def test_strings_that_do_not_fit_are_refused(raw):
    with pytest.raises(UndecodableError):
        from_binary("BYTES", (1,), raw)


def test_a_huge_shape_of_strings_costs_nothing():
    with pytest.raises(UndecodableError):
        from_binary("BYTES", (2**31 - 1,) * 16, bytes(400))


@settings(deadline=None)  # a busy machine is no failure
@given(st.binary(max_size=200))
def test_no_message_crashes(message):
    for decode in (grpc_v2.decode_outputs, lambda body: http_v2.decode_outputs(body, None)):
        with contextlib.suppress(UndecodableError):
            decode(message)
    assert grpc_v2.input_bytes(message) >= 0
    assert http_v2.input_bytes(message, None) >= 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("A") | json_values,
        "datatype": st.sampled_from([*SIZES, "BYTES"]) | json_values,
        "shape": st.lists(st.integers(-1, 4), max_size=3) | json_values,
        "data": st.lists(json_values, max_size=4) | json_values,
        "parameters": st.fixed_dictionaries({"binary_data_size": st.integers(-1, 9)}) | json_values,
    },
)


@settings(deadline=None)
@given(st.lists(fields, max_size=3), st.binary(max_size=16), st.none() | st.integers(0, 400))
def test_no_json_that_looks_like_an_answer_crashes(outputs, binary, length):
    body = json.dumps({"outputs": outputs, "inputs": outputs}).encode() + binary
    with contextlib.suppress(UndecodableError):
        for values in http_v2.decode_outputs(body, length).values():
            assert len(values.elements(0, values.count)) == values.count
    assert http_v2.input_bytes(body, length) >= 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: answer.raw_output_contents.pop(),
        lambda answer: answer.raw_output_contents.append(b""),
        lambda answer: setattr(answer.outputs[1], "name", "LABEL"),
        lambda answer: setattr(answer.outputs[1], "datatype", "FP64"),
        lambda answer: answer.outputs[1].shape.append(-1),
        lambda answer: answer.outputs[1].shape.append(2**40),
        lambda answer: answer.ClearField("raw_output_contents"),
    ],
)
def test_a_message_that_is_not_whole_is_refused(spoil):
    answer = service_pb2.ModelInferResponse.FromString(grpc_answer())
    spoil(answer)
    with pytest.raises(UndecodableError):
        grpc_v2.decode_outputs(answer.SerializeToString())


@pytest.mark.parametrize(
    ("datatype", "field", "elements"),
    [
        ("BOOL", "bool_contents", [True, False]),
        ("INT8", "int_contents", [-1, 2]),
        ("INT64", "int64_contents", [-1, 2]),
        ("UINT16", "uint_contents", [1, 2]),
        ("UINT64", "uint64_contents", [1, 2]),
        ("FP32", "fp32_contents", [0.5, 2]),
        ("FP64", "fp64_contents", [0.5, 2]),
        ("BYTES", "bytes_contents", [b"a", b""]),
    ],
)
def test_contents_of_every_kind_are_read(datatype, field, elements):
    answer = service_pb2.ModelInferResponse()
    tensor = answer.outputs.add(name="A", datatype=datatype, shape=[2])
    getattr(tensor.contents, field).extend(elements)
    values = grpc_v2.decode_outputs(answer.SerializeToString())["A"]
    assert list(values.elements(0, 2)) == elements


def test_shapes_are_of_sizes():
    assert read_shape([1, 0, 3]) == (1, 0, 3)


def _request(**tensor):
    entry = {"name": "TEXT", "datatype": "BYTES", "shape": [2], "data": ["ab", "é"]} | tensor
    return json.dumps({"inputs": [entry, entry]}).encode()


@pytest.mark.parametrize(
    ("body", "header_length", "size"),
    [
        (_request(), None, 8),
        (_request(datatype="INT64", data=[1, 2]), None, 32),
        (_request() + b"12345", len(_request()), 5),
        (_request(), len(_request()), 8),
        (_request() + b"12345", 10_000, len(_request()) + 5),
        (b"no json", None, 7),
        (b'{"inputs":[]}', None, 0),
    ],
)
def test_the_length_of_inputs_is_that_of_what_is_in_them(body, header_length, size):
    assert http_v2.input_bytes(body, header_length) == size


def test_the_length_of_grpc_inputs():
    request = service_pb2.ModelInferRequest(model_name="m")
    tensor = request.inputs.add(name="TEXT", datatype="BYTES", shape=[2])
    tensor.contents.bytes_contents.extend([b"ab", b"cde"])
    assert grpc_v2.input_bytes(request.SerializeToString()) == 5
    request.raw_input_contents.append(b"1234567")
    assert grpc_v2.input_bytes(request.SerializeToString()) == 7
    assert grpc_v2.input_bytes(b"\xff" * 9) == 9
