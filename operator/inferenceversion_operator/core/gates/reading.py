"""Numbers out of answers; what can't be one is said as ``Unanswered``, whatever Prometheus sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inferenceversion_operator.core.gates.answers import Answers, Sample, Unanswered

# More is no count of requests, and the arithmetic of evidence is exact below it.
_LARGEST_COUNT = 1e12

NO_DATA = "NoData"
NOT_A_NUMBER = "NotANumber"

Counts = Mapping[tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one answer, each with the labels of its sample."""

    samples: tuple[tuple[Mapping[str, str], int], ...]

    def by(self, *labels: str, **equal: str) -> dict[tuple[str, ...], int]:
        """Return sums by the values of ``labels`` over the samples whose labels are ``equal``; "" is one it has not."""
        sums: dict[tuple[str, ...], int] = {}
        for has, count in self._with(equal):
            key = tuple(has.get(label, "") for label in labels)
            sums[key] = sums.get(key, 0) + count
        return sums

    def total(self, **equal: str) -> int | None:
        """Return the sum over the samples whose labels are ``equal``; None where there is none."""
        found = [count for _, count in self._with(equal)]
        return sum(found) if found else None

    def _with(self, equal: Mapping[str, str]) -> Iterator[tuple[Mapping[str, str], int]]:
        for has, count in self.samples:
            if all(has.get(label, "") == value for label, value in equal.items()):
                yield has, count


def samples_of(answers: Answers, key: str) -> tuple[Sample, ...] | Unanswered:
    """Return the answer to a question of ours."""
    return answers.get(key, Unanswered("NotAsked", f"Prometheus was not asked for {key} yet"))


def counts_of(answers: Answers, key: str) -> Counted | Unanswered:
    """Return the answer as whole counts; there may be none."""
    samples = samples_of(answers, key)
    if isinstance(samples, Unanswered):
        return samples
    counted = []
    for sample in samples:
        # A NaN is within no range. -0.5: what is left of a counter that did not grow.
        if not -0.5 <= sample.value <= _LARGEST_COUNT:
            return Unanswered(NOT_A_NUMBER, f"Prometheus answered {sample.value:g} to {key}, which is no count")
        counted.append((sample.labels, max(round(sample.value), 0)))
    return Counted(tuple(counted))
