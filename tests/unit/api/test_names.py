"""Derived names: valid for every kind, readable, and never the same for two objects."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferenceversion_operator.api.names import config_map_name, endpoint_name, label_value, version_name

DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
labels = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
subdomains = st.lists(labels, min_size=1, max_size=4).map(".".join).filter(lambda name: len(name) <= 253)


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("news-sentiment-2.4.1", "news-sentiment-2-4-1"),
        ("a.b-c", "a-b-c"),
        ("a-b.c", "a-b-c"),
        ("2.4.1", "v-2-4-1"),
        ("0", "v-0"),
        ("a" * 253, "a" * 45),
        ("1" * 253, "v-" + "1" * 43),
        ("a" * 44 + "-b", "a" * 44),
        ("a" * 44 + ".b", "a" * 44),
    ],
)
def test_version_name_is_readable(name, readable):
    assert re.fullmatch(rf"{readable}-[0-9a-f]{{8}}", version_name(name))


@pytest.mark.parametrize(
    "names",
    [("a.b-c", "a-b.c", "a-b-c", "a.b.c"), ("a" * 253, "a" * 252), ("v-1", "1"), ("a--b", "a-b"), ("1.0", "1-0")],
    ids=lambda names: names[0][:10],
)
def test_names_that_read_alike_do_not_meet(names):
    assert len({version_name(name) for name in names}) == len(names)


@given(subdomains)
def test_version_name_suits_every_kind(name):
    derived = version_name(name)
    assert DNS_1035.fullmatch(derived)
    assert len(derived) <= 54
    assert len(config_map_name(derived, "0123456789abcdef")) <= 63


@given(st.lists(subdomains, min_size=2, max_size=20, unique=True))
def test_different_versions_have_different_names(names):
    assert len({version_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("news-sentiment", r"news-sentiment"),
        ("a" * 63, "a" * 63),
        ("2nd", r"e-2nd-[0-9a-f]{8}"),
        ("1" * 63, r"e-1{43}-[0-9a-f]{8}"),
    ],
    ids=["as-it-is", "longest", "digit", "longest-of-digits"],
)
def test_endpoint_keeps_its_name_where_a_service_allows_it(name, expected):
    assert re.fullmatch(expected, endpoint_name(name))


@given(labels)
def test_endpoint_name_suits_a_service(name):
    assert DNS_1035.fullmatch(endpoint_name(name))
    assert len(endpoint_name(name)) <= 63


@pytest.mark.parametrize(
    ("text", "value"),
    [("2.4.1", "2.4.1"), ("2.4.1+build.7", "2.4.1_build.7"), ("1.0.0-", "1.0.0"), ("a" * 70, "a" * 63)],
)
def test_label_value(text, value):
    assert label_value(text) == value


@given(st.text(max_size=100))
def test_label_value_is_valid(text):
    value = label_value(text)
    assert LABEL_VALUE.fullmatch(value)
    assert len(value) <= 63
