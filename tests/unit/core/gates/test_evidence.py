"""Binomial tails: exact where that can be checked, and stable where it can't."""

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferenceversion_operator.core.gates.evidence import (
    ALPHA,
    Claim,
    allowed_beside,
    at_least,
    at_most,
    enough_for,
    upper_limit,
)


def exactly(part, whole, share):
    """Return the chance of at least ``part``, without rounding."""
    terms = (math.comb(whole, k) * share**k * (1 - share) ** (whole - k) for k in range(part, whole + 1))
    return float(sum(terms))


@given(st.integers(0, 120), st.integers(0, 120), st.fractions(0, 1, max_denominator=1000))
@settings(deadline=None, max_examples=200)
def test_tails_are_exact(part, more, share):
    whole = part + more
    assert at_least(part, whole, float(share)) == pytest.approx(exactly(part, whole, share), rel=1e-9, abs=1e-12)
    assert at_most(part, whole, float(share)) == pytest.approx(
        1 - exactly(part + 1, whole, share) if part < whole else 1, rel=1e-9, abs=1e-9
    )


def by_ratios(part, whole, share):
    """Return the same chance without a logarithm: terms beside the largest one, divided by the sum of all."""
    mode = int(whole * share)
    above, below = [Decimal(1)], []
    odds = Decimal(share) / (1 - Decimal(share))
    for k in range(mode, whole):
        above.append(above[-1] * (whole - k) / (k + 1) * odds)
        if above[-1] < Decimal("1e-40"):
            break
    for k in range(mode, 0, -1):
        below.append((below[-1] if below else Decimal(1)) * k / (whole - k + 1) / odds)
        if below[-1] < Decimal("1e-40"):
            break
    terms = [*reversed(below), *above]
    return float(sum(terms[max(part - mode + len(below), 0) :]) / sum(terms))


@pytest.mark.parametrize(
    ("part", "whole", "share"),
    [
        (500_001, 10_000_000, 0.05),
        (501_604, 10_000_000, 0.05),
        (499_000, 10_000_000, 0.05),
        (10_072, 10_000_000, 0.001),
        (10_700, 10_000_000, 0.001),
        (150, 1_000_000, 0.0001),
        (3, 1_000_000, 1e-9),
    ],
)
def test_tails_of_many_requests(part, whole, share):
    assert at_least(part, whole, share) == pytest.approx(by_ratios(part, whole, share), rel=1e-6)
    assert at_least(part, whole, share) + at_most(part - 1, whole, share) == pytest.approx(1, abs=1e-6)


def test_where_the_sum_gives_way_to_the_normal_distribution_nothing_jumps():
    whole = 4_000_000  # half of them: a variance of a million
    exact, normal = at_least(2_002_398, whole - 4, 0.5), at_least(2_002_402, whole + 4, 0.5)
    assert exact == pytest.approx(normal, rel=1e-3)


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.floats(0, 1))
@settings(deadline=None)
def test_any_counts_have_a_chance(part, more, share):
    assert 0 <= at_least(part, part + more, share) <= 1
    assert 0 <= at_most(part, part + more, share) <= 1


@pytest.mark.parametrize(
    ("part", "whole", "limit"),
    [(0, 0, 1.0), (5, 5, 1.0), (0, 10, 0.3690), (0, 459, 0.00998), (5, 100, 0.1259), (50_000, 1_000_000, 0.0505)],
)
def test_the_share_that_is_surely_not_exceeded(part, whole, limit):
    assert upper_limit(part, whole) == pytest.approx(limit, rel=0.001)
    if part < whole:
        assert at_most(part, whole, upper_limit(part, whole)) == pytest.approx(ALPHA, rel=1e-6)


def test_the_fewest_slow_requests_that_refute_a_p95():
    refuting = {n: next(k for k in range(n + 1) if Claim(k, n, 0.05).refuted) for n in (20, 100, 1000)}
    assert refuting == {20: 5, 100: 12, 1000: 68}
    assert Claim(5, 100, 0.05).holds
    assert not Claim(6, 100, 0.05).holds


def test_a_baseline_of_few_requests_refutes_little():
    assert allowed_beside(0, 0, 0.01) == (0.01, 1.0)
    near, surely = allowed_beside(2, 20, 0.01)
    assert near == pytest.approx(0.11)
    assert 0.3 < surely < 0.5
    assert allowed_beside(20_000, 200_000, 0.01)[1] == pytest.approx(0.1116, abs=1e-4)


@pytest.mark.parametrize(
    ("allowed", "min_requests", "enough"),
    [
        (0.001, 100, 100),
        (0.001, 5000, 1000),
        (0.01, 1000, 100),
        (0.5, 1000, 20),
        (0.001, 0, 20),
        (0.0, 50, 50),
        (0.0, 0, 20),
    ],
)
def test_of_how_many_requests_a_share_is_taken_to_hold(allowed, min_requests, enough):
    assert enough_for(allowed, min_requests) == enough
