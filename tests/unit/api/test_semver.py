"""Precedence of SemVer 2.0."""

from itertools import pairwise

import pytest

from inferenceversion_operator.api.schema import validate
from inferenceversion_operator.api.semver import is_semver, precedence
from tests.bad_input.table import base

# Of the specification, and what sorting as text would get wrong.
ASCENDING = [
    "0.0.0-0", "0.0.0", "0.0.1", "0.9.0", "0.10.0",
    "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0--", "1.0.0-Alpha", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.1.0",
    "1.0.0-alpha.beta", "1.0.0-alpha-1", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
    "1.0.1", "1.9.0", "1.10.0", "2.0.0", "10.0.0", "99999999999999999999.0.0",
]  # fmt: skip
VALID = [*ASCENDING, "1.0.0+b", "1.0.0-a+b.001", "1.0.0+0.-.0", "1.0.0-0a", "1.0.0--1", "1.0.0-x-y-z.--"]
INVALID = [
    "", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.02.3", "1.2.03", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+",
    "1.2.3+a+b", "1.2.3-a_b", " 1.2.3", "1.2.3 ", "1.2.3\n", "1.2.x", "-1.2.3", "1.2.3-ä", "१.२.३",
]  # fmt: skip


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(ASCENDING)))
def test_order(lower, higher):
    assert precedence(lower) < precedence(higher)


def test_sorting_by_precedence():
    assert sorted(ASCENDING[1::2] + ASCENDING[::2], key=precedence) == ASCENDING


def test_build_metadata_does_not_count():
    assert precedence("1.0.0+a") == precedence("1.0.0+b") == precedence("1.0.0")


def in_crd(version):
    manifest = base()
    manifest["spec"]["version"] = version
    return validate(manifest) == []


@pytest.mark.parametrize("version", VALID)
def test_valid(version):
    assert is_semver(version)
    assert in_crd(version)


@pytest.mark.parametrize("version", INVALID, ids=repr)
def test_invalid(version):
    assert not in_crd(version)
    if not version.endswith("\n"):  # the library lets a last line break pass; the CRD does not
        assert not is_semver(version)
