"""What is a mismatch and what is none, as tables."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferenceversion_operator.api.types import Tensor, Tolerance
from inferenceversion_operator.differ.compare import Element, Kind, compare
from inferenceversion_operator.differ.wire.tensors import from_binary, from_elements

NAN, INF = math.nan, math.inf
EXACT = Tolerance()


def tensor(datatype, elements, shape=None):
    return from_elements(datatype, shape or (len(elements),), elements)


def differ(ours, theirs, tolerance=EXACT, shape=(-1,)):
    found = compare([Tensor("OUT", ours.datatype, shape)], tolerance, {"OUT": ours}, {"OUT": theirs})
    return found[0] if found else None


@pytest.mark.parametrize(
    ("datatype", "ours", "theirs", "differs"),
    [
        ("INT64", [1, 2], [1, 2], 0),
        ("INT64", [1, 2], [1, 3], 1),
        ("INT64", [2**62], [2**62 + 1], 1),
        ("BOOL", [True, False], [True, True], 1),
        ("BYTES", [b"a", b"b"], [b"a", b"b"], 0),
        ("BYTES", [b"a", b"b"], [b"A", b""], 2),
        ("FP32", [0.1, NAN, INF, -INF], [0.1, NAN, INF, -INF], 0),
        ("FP64", [0.0], [-0.0], 0),
        ("FP64", [1.0], [math.nextafter(1.0, 2)], 1),
        ("FP32", [NAN, 1.0, INF, INF], [1.0, NAN, -INF, 1.0], 4),
    ],
)
def test_without_tolerance_everything_has_to_be_the_same(datatype, ours, theirs, differs):
    found = differ(tensor(datatype, ours), tensor(datatype, theirs))
    assert (found.count if found else 0) == differs


@pytest.mark.parametrize(
    ("absolute", "relative", "stable", "candidate", "equal"),
    [
        (0.25, 0, 1.0, 1.25, True),
        (0.25, 0, 1.0, 0.75, True),
        (0.25, 0, 1.0, 1.2500001, False),
        (0, 0.5, 2.0, 3.0, True),
        (0, 0.5, 2.0, 3.1, False),
        (0, 0.5, -2.0, -3.0, True),
        # The tolerance is a share of stable's number, not of the candidate's.
        (0, 0.5, 4.0, 2.0, True),
        (0, 0.5, 2.0, 4.0, False),
        (1, 0.5, 2.0, 4.0, True),
        (0, 1, 0.0, 1e-300, False),
        (1, 1, NAN, NAN, True),
        (1, 1, NAN, 0.0, False),
        (1, 1, 0.0, NAN, False),
        (1, 1, INF, INF, True),
        (1, 1, INF, -INF, False),
        (1, 1, INF, 1e308, False),
        (1, 1, 1e308, INF, False),
        (1e308, 0, -1e308, 1e308, False),
    ],
)
def test_floats_may_be_as_far_apart_as_said(absolute, relative, stable, candidate, equal):
    found = differ(tensor("FP64", [stable]), tensor("FP64", [candidate]), Tolerance(absolute, relative))
    assert (found is None) == equal


def test_integers_have_no_tolerance():
    assert differ(tensor("INT32", [1]), tensor("INT32", [2]), Tolerance(5, 5))


@pytest.mark.parametrize(
    ("datatype", "step"),
    [("FP16", struct.pack("<e", 1.001)), ("BF16", b"\x81\x3f")],  # the next number above 1
)
def test_half_floats_are_compared_as_numbers(datatype, step):
    one = struct.pack("<e", 1.0) if datatype == "FP16" else b"\x80\x3f"
    ours, theirs = from_binary(datatype, (1,), one), from_binary(datatype, (1,), step)
    assert differ(ours, theirs, Tolerance(0.0001, 0)).count == 1
    assert differ(ours, theirs, Tolerance(0.01, 0)) is None


def test_two_ways_to_write_nan_are_one():
    ours = from_binary("FP32", (1,), b"\x00\x00\xc0\x7f")
    theirs = from_binary("FP32", (1,), b"\x01\x00\xc0\xff")
    assert differ(ours, theirs) is None


floats = st.floats(width=32)


@settings(deadline=None)  # a busy machine is no failure
@given(
    st.lists(st.tuples(floats, floats), min_size=1, max_size=20), st.floats(0, 10, width=32), st.floats(0, 2, width=32)
)
def test_floats_are_close_where_numpy_says_so(pairs, absolute, relative):
    ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    with np.errstate(all="ignore"):
        close = np.isclose(np.array(theirs), np.array(ours), rtol=relative, atol=absolute, equal_nan=True)
    found = differ(tensor("FP32", ours), tensor("FP32", theirs), Tolerance(absolute, relative))
    assert (found.count if found else 0) == int((~close).sum())


def test_a_place_far_into_a_large_tensor_is_found():
    ours = [0.0] * 5000
    theirs = list(ours)
    theirs[4321] = 1.0
    found = differ(tensor("FP32", ours), tensor("FP32", theirs))
    assert found.elements == (Element(4321, 0.0, 1.0),)
    assert found.detail == "1 of 5000 elements differ"


def test_of_many_differences_some_are_named_and_all_are_counted():
    found = differ(tensor("INT8", [0] * 100, (100,)), tensor("INT8", [1] * 100, (100,)), shape=())
    assert found.count == 100
    assert len(found.elements) == len(found.rows) == 8


ROWS = [0.1, 0.2, 0.7, 0.6, 0.3, 0.1, 0.0, 0.5, 0.5]


def test_rows_of_a_batch_that_were_mixed_up_are_found_and_named():
    ours = tensor("FP32", ROWS, (3, 3))
    theirs = tensor("FP32", ROWS[6:] + ROWS[3:6] + ROWS[:3], (3, 3))
    found = differ(ours, theirs, Tolerance(0.001, 0), shape=(3,))
    assert found.kind is Kind.VALUE
    assert found.rows == (0, 2)
    assert found.detail.endswith("they are stable's rows in another order")


def test_one_row_that_differs_is_named():
    theirs = [*ROWS[:3], 0.9, *ROWS[4:]]
    found = differ(tensor("FP32", ROWS, (3, 3)), tensor("FP32", theirs, (3, 3)), shape=(3,))
    assert found.rows == (1,)
    assert found.elements == (Element(3, pytest.approx(0.6), pytest.approx(0.9)),)
    assert "another order" not in found.detail


def test_texts_of_a_batch_that_were_swapped_are_found():
    ours, theirs = tensor("BYTES", [b"a", b"b"], (2, 1)), tensor("BYTES", [b"b", b"a"], (2, 1))
    assert differ(ours, theirs, shape=(1,)).rows == (0, 1)


def test_without_a_batch_no_rows_are_named():
    assert differ(tensor("INT8", [1, 2]), tensor("INT8", [2, 1]), shape=(2,)).rows == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "detail"),
    [
        (tensor("FP32", [1.0]), tensor("FP32", [1.0], (1, 1)), "stable FP32[1], candidate FP32[1, 1]"),
        (tensor("FP32", [1.0]), tensor("FP64", [1.0]), "stable FP32[1], candidate FP64[1]"),
        (tensor("INT8", []), tensor("INT8", [1]), "stable INT8[0], candidate INT8[1]"),
    ],
)
def test_shapes_and_datatypes_have_to_be_the_same(ours, theirs, detail):
    found = differ(ours, theirs)
    assert (found.kind, found.detail) == (Kind.SHAPE, detail)


A = tensor("INT8", [1])
B = tensor("INT8", [2])


@pytest.mark.parametrize(
    ("stable", "candidate", "found"),
    [
        ({"A": A, "B": B}, {"A": A, "B": B}, []),
        ({"A": A, "B": B}, {"B": B, "A": A}, []),  # the order of outputs is no matter
        ({"A": A, "B": B}, {"A": A}, [("B", Kind.MISSING)]),
        ({"A": A}, {"A": A, "B": B}, [("B", Kind.MISSING)]),
        ({"A": A}, {"A": A}, []),  # nobody asked for B
        ({}, {}, []),
        ({"A": A, "X": A}, {"A": A, "X": B}, []),  # X is not in the contract
        ({"A": A}, {"A": A, "X": B}, []),
        ({"A": A, "B": B}, {"A": B, "B": A}, [("A", Kind.VALUE), ("B", Kind.VALUE)]),
        ({"A": A, "B": B}, {}, [("A", Kind.MISSING), ("B", Kind.MISSING)]),
    ],
)
def test_outputs_of_the_contract_are_compared_and_no_others(stable, candidate, found):
    contract = [Tensor("A", "INT8", (1,)), Tensor("B", "INT8", (1,))]
    seen = compare(contract, EXACT, stable, candidate)
    assert [(difference.output, difference.kind) for difference in seen] == found
