"""A histogram of times, as the guard counts them."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from inferenceversion_operator.core.gates import metrics
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.evidence import ALPHA, at_most
from inferenceversion_operator.core.gates.reading import NO_DATA, counts_of

_SAME = 1e-9  # relative difference of two spellings of one bound


@dataclass(frozen=True, slots=True)
class Times:
    """How many requests took at most so long.

    Attributes:
        bounds: milliseconds, ascending; the last one is infinite.
        counts: requests up to each bound.
    """

    bounds: tuple[float, ...] = (math.inf,)
    counts: tuple[int, ...] = (0,)

    @property
    def total(self) -> int:
        return self.counts[-1]

    def slower_than(self, bound: float) -> int:
        """Return how many took longer than ``bound``, which is one of the bounds (else the next one above it)."""
        return self.total - self.counts[self._place(bound)]

    def has_bound(self, milliseconds: float) -> bool:
        """Say whether the histogram is exact at ``milliseconds``."""
        return math.isclose(self.bound_from(milliseconds), milliseconds, rel_tol=2 * _SAME)

    def bound_from(self, milliseconds: float) -> float:
        """Return the smallest bound that is not below ``milliseconds``."""
        return self.bounds[self._place(milliseconds)]

    def _place(self, milliseconds: float) -> int:
        return min(bisect_left(self.bounds, milliseconds * (1 - _SAME)), len(self.bounds) - 1)

    def quantile(self, share: float) -> float:
        """Return the time within which ``share`` of the requests were answered, as ``histogram_quantile`` does.

        It is interpolated between bounds; infinite above the last finite one.
        """
        rank = share * self.total
        place = min(bisect_left(self.counts, rank), len(self.bounds) - 1)
        upper = self.bounds[place]
        lower, below = (self.bounds[place - 1], self.counts[place - 1]) if place else (0.0, 0)
        inside = self.counts[place] - below
        return upper if math.isinf(upper) or not inside else lower + (upper - lower) * (rank - below) / inside

    def quantile_at_most(self, share: float) -> float:
        """Return the bound that the quantile surely does not exceed; infinite of too few requests."""
        for bound in self.bounds[:-1]:
            if at_most(self.slower_than(bound), self.total, 1 - share) < ALPHA:
                return bound
        return math.inf


def times_of(answers: Answers, key: str) -> Times | Unanswered:
    """Return the histogram of an answer."""
    counted = counts_of(answers, key)
    if isinstance(counted, Unanswered):
        return counted
    up_to: dict[float, int] = {}
    for (text,), count in counted.by(metrics.BOUND).items():
        bound = bound_of(text)
        up_to[bound] = up_to.get(bound, 0) + count
    if math.inf not in up_to:
        return Unanswered(NO_DATA, "Prometheus has no times of this step yet")
    bounds = sorted(up_to)
    # Counts of a guard that was restarted are rounded: each is at least the one below.
    return Times(tuple(bounds), tuple(accumulate((up_to[bound] for bound in bounds), max)))


def bound_of(text: str) -> float:
    """Return the value of a label ``le``; what is no number is below all others."""
    try:
        bound = float(text)
    except ValueError:
        return -math.inf
    return -math.inf if math.isnan(bound) else bound
