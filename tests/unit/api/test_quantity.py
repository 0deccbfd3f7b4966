"""Quantities: the value, and the form that the API server writes."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferenceversion_operator.api.quantity import canonical, parse, plain

# Each of them was read and written by Kubernetes' own library (apimachinery 0.37).
WRITTEN = [
    ("0", "0"), ("0m", "0"), ("0Ki", "0"), ("1", "1"), ("1000m", "1"), ("0.5", "500m"), (".5", "500m"), ("1.5", "1500m"),
    ("1500m", "1500m"), ("2", "2"), ("1000", "1k"), ("1500", "1500"), ("100000", "100k"), ("1200000", "1200k"),
    ("1024", "1024"), ("1024Ki", "1Mi"), ("1024Mi", "1Gi"), ("1536Mi", "1536Mi"), ("1.5Gi", "1536Mi"), ("0.5Gi", "512Mi"),
    ("1.5Ki", "1536"), ("0.1Ki", "102400m"), ("1023Ki", "1023Ki"), ("16Gi", "16Gi"), ("0.5Ki", "512"), ("1e3", "1e3"),
    ("12e1", "120"), ("1E", "1E"), ("1.2e-3", "1200e-6"), ("1n", "1n"), ("0.1n", "1n"), ("1u", "1u"), ("-1500m", "-1500m"),
    ("2M", "2M"), ("2000k", "2M"), ("0.001M", "1k"), ("1.0000000001", "1000000001n"), ("9Ei", "9223372036854775807"),
]  # fmt: skip
INVALID = ["", " ", "2MB", "1 G", "1K", "1.2.3", "--1", "1e", "abc", "0x1", "1_000", "Gi", "1,5", "١", "1\n"]  # noqa: RUF001


@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_canonical(text, expected):
    assert canonical(text) == expected


def test_canonical_of_a_number():
    assert [canonical(number) for number in (0, 1, 1000, 2097152)] == ["0", "1", "1k", "2097152"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2Mi", 2097152),
        ("2M", 2000000),
        ("100m", Decimal("0.1")),
        (7, 7),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1.5Gi", 1610612736),
    ],
)
def test_parse(text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "expected"), [("2Mi", "2097152"), ("500m", "0.5"), (".50", "0.5"), ("0", "0"), ("10", "10"), (1, "1")]
)
def test_plain(text, expected):
    assert plain(text) == expected


@pytest.mark.parametrize("text", INVALID, ids=repr)
def test_invalid(text):
    with pytest.raises(ValueError, match="not a quantity"):
        parse(text)


@pytest.mark.parametrize("text", ["1e99999", "9" * 31 + "e1", "0." + "9" * 29, "1e-99999", "9" * 30 + "Ei"])
def test_absurd_ones_end_soon(text):
    assert canonical(text)
    assert plain(text)


numbers = st.from_regex(r"-?([0-9]{1,12}(\.[0-9]{0,6})?|\.[0-9]{1,6})", fullmatch=True)
suffixes = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "e3", "E2", "e-3"])
quantities = st.builds("{}{}".format, numbers, suffixes)


@given(quantities)
def test_canonical_keeps_the_value(text):
    assert parse(canonical(text)) == parse(text)


@given(quantities)
def test_canonical_form_is_final(text):
    assert canonical(canonical(text)) == canonical(text)


@given(quantities, quantities)
def test_plain_is_the_same_for_equal_values_alone(one, other):
    assert (plain(one) == plain(other)) is (parse(one) == parse(other))
