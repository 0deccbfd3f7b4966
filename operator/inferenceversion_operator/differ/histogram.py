"""Histograms with fixed bounds: what was counted, and how far each bound reaches."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

# Scores are mostly probabilities; the tails are for logits and what went wrong.
SCORE_BOUNDS = (
    *(-100.0, -10.0, -5.0, -2.0, -1.0, -0.5, 0.0),
    *(step / 20 for step in range(1, 21)),
    *(2.0, 5.0, 10.0, 100.0),
)
LENGTH_BOUNDS = tuple(float(16 * 4**power) for power in range(14))  # 16 bytes to 1 GiB
SECONDS_BOUNDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0),
)


class Histogram:
    """Counts values; a NaN is above every bound."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value) if value == value else -1] += 1  # noqa: PLR0124 - not NaN
        self.total += value

    def add_all(self, values: Iterable[float]) -> None:
        for value in values:
            self.add(value)

    def cumulative(self) -> Iterator[tuple[str, float]]:
        """Yield each bound as Prometheus writes it, with the number of values up to it."""
        names = [*(repr(bound) for bound in self._bounds), "+Inf"]
        return zip(names, accumulate(self._counts), strict=True)
