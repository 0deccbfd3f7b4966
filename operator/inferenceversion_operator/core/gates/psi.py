"""The population stability index (PSI): how far two distributions are apart, and how sure that is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Bins with less than this, of both sides together, are taken together: their logarithms are all noise.
_FEWEST_IN_A_BIN = 10
_SHARE_OF_A_BIN = 0.1  # of ordered values: tenths are what PSI is used with
_SMOOTHING = 0.5  # a bin that one side never fills would make the index infinite
# Standard deviations. The distribution of a PSI has a longer tail than the normal one, so it is more than the 2.33 of
# one in a hundred.
_SIGMAS = 3.0

REST = "all others"


@dataclass(frozen=True, slots=True)
class Bin:
    """A class of values, and how often each side has it."""

    name: str
    stable: int
    candidate: int

    @property
    def both(self) -> int:
        return self.stable + self.candidate

    def plus(self, other: "Bin", name: str) -> "Bin":
        return Bin(name, self.stable + other.stable, self.candidate + other.candidate)


@dataclass(frozen=True, slots=True)
class Shift:
    """One bin beside the whole: shares of each side, and what it adds to the index."""

    name: str
    stable: float
    candidate: float

    @property
    def weight(self) -> float:
        return (self.candidate - self.stable) * math.log(self.candidate / self.stable)


def shifts(bins: Sequence[Bin]) -> tuple[Shift, ...]:
    """Return how far each bin has moved; the PSI is the sum of their weights."""
    stable = sum(one.stable + _SMOOTHING for one in bins)
    candidate = sum(one.candidate + _SMOOTHING for one in bins)
    return tuple(
        Shift(one.name, (one.stable + _SMOOTHING) / stable, (one.candidate + _SMOOTHING) / candidate) for one in bins
    )


def merge_rare(bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """Return the bins of labels with the rare ones taken together, in a stable order."""
    kept = [one for one in bins if one.both >= _FEWEST_IN_A_BIN]
    rest = Bin(REST, 0, 0)
    for one in bins:
        if one.both < _FEWEST_IN_A_BIN:
            rest = rest.plus(one, REST)
    return tuple(sorted([*kept, *([rest] if rest.both else [])], key=lambda one: one.name))


def merge_adjacent(bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """Return the bins of ordered values with neighbours taken together until one side has a tenth of its values there.

    One side is enough: a range that only one of them knows is what drift looks like.
    """
    stable = _SHARE_OF_A_BIN * sum(one.stable for one in bins)
    candidate = _SHARE_OF_A_BIN * sum(one.candidate for one in bins)

    def full(one: Bin) -> bool:
        return one.both >= _FEWEST_IN_A_BIN and (one.stable >= stable > 0 or one.candidate >= candidate > 0)

    merged: list[Bin] = []
    for one in bins:
        if merged and not full(merged[-1]):
            merged[-1] = merged[-1].plus(one, one.name)
        else:
            merged.append(one)
    if len(merged) > 1 and not full(merged[-1]):
        last = merged.pop()
        merged[-1] = merged[-1].plus(last, last.name)
    return tuple(merged)


def surely_beyond(bound: float, bins: int, stable: int, candidate: int) -> float:
    """Return the index above which two distributions are sure to be more than ``bound`` apart.

    Of samples of one distribution the index, in units of ``1/stable + 1/candidate``, is a chi-square variable with
    ``bins - 1`` degrees of freedom; a real distance makes that a noncentral one.
    """
    unit = 1 / stable + 1 / candidate
    freedom = max(bins - 1, 1)
    return bound + freedom * unit + _SIGMAS * math.sqrt(2 * freedom * unit**2 + 4 * unit * bound)
