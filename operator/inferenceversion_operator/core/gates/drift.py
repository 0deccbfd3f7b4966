"""The gates ``drift-labels`` and ``drift-scores``: whether the answers as a whole have moved."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from inferenceversion_operator.core.gates import asked, metrics
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.findings import (
    BEYOND,
    TOO_FEW,
    UNCLEAR,
    WITHIN,
    finding,
    in_short,
    unanswered,
)
from inferenceversion_operator.core.gates.mismatch import comparisons_of
from inferenceversion_operator.core.gates.psi import Bin, Shift, merge_adjacent, merge_rare, shifts, surely_beyond
from inferenceversion_operator.core.gates.reading import Counted, counts_of
from inferenceversion_operator.core.gates.scope import Scope
from inferenceversion_operator.core.gates.text import decimal, percent, requests, short
from inferenceversion_operator.core.gates.times import bound_of
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

LABELS = "drift-labels"
SCORES = "drift-scores"

_FEWEST = 20  # requests
_STABLE, _CANDIDATE = "stable", "candidate"

_Counts = Mapping[tuple[str, str], int]  # (side, label or bound) -> count
_Bins = Mapping[str, Sequence[Bin]]  # by output


@dataclass(frozen=True, slots=True)
class _Drift:
    """The drift of one output; above ``surely`` the bound is broken, whatever chance does."""

    output: str
    psi: float
    surely: float
    most: Shift

    @property
    def rank(self) -> tuple[bool, float]:
        return self.psi > self.surely, self.psi


def drift_of_labels(scope: Scope, answers: Answers) -> Finding:
    """Look at the outputs of datatype BYTES, value by value."""
    keys = asked.keys_of(asked.LABELS, asked.outputs_of_labels(scope))
    return _drift(LABELS, scope, answers, _by_output(answers, keys, metrics.LABEL, _label_bins))


def drift_of_scores(scope: Scope, answers: Answers) -> Finding:
    """Look at the outputs of floats, by ranges of about a tenth of all values each."""
    keys = asked.keys_of(asked.SCORES, asked.outputs_of_scores(scope))
    return _drift(SCORES, scope, answers, _by_output(answers, keys, metrics.BOUND, _score_bins))


def _drift(name: str, scope: Scope, answers: Answers, bins: _Bins | Unanswered) -> Finding:
    comparisons = comparisons_of(answers)
    if isinstance(comparisons, Unanswered):
        return unanswered(name, comparisons)
    if isinstance(bins, Unanswered):
        return unanswered(name, bins)
    compared = comparisons.total(of=asked.PAIRS) or 0
    bound = scope.candidate.traffic.shadow.max_drift
    drifts = [_drift_of(output, each, compared, bound) for output, each in bins.items()]
    worst = max((drift for drift in drifts if drift), key=lambda drift: drift.rank, default=None)
    verdict, reason = _weigh(worst, compared, bound)
    told = _told(worst, scope, compared, bound) + in_short(verdict, reason, _FEWEST)
    return finding(name, verdict, reason, told, decimal(round(worst.psi, 6)) if worst else None, f"<= {decimal(bound)}")


def _weigh(worst: _Drift | None, compared: int, bound: float) -> tuple[Verdict, str]:
    if compared < _FEWEST:
        return Verdict.INCONCLUSIVE, TOO_FEW
    if worst is None:
        return Verdict.PASS, "NothingToCompare"
    if worst.psi <= bound:
        return Verdict.PASS, WITHIN
    return (Verdict.FAIL, BEYOND) if worst.psi > worst.surely else (Verdict.INCONCLUSIVE, UNCLEAR)


def _told(worst: _Drift | None, scope: Scope, compared: int, bound: float) -> str:
    if worst is None:
        return f"none of {requests(compared)} had such an output from both versions"
    most = worst.most
    return (
        f"the PSI of output {worst.output} is {short(worst.psi)} over {requests(compared)}, bound {short(bound)} "
        f"(shadow.maxDrift): {most.name} is {percent(most.candidate)}, and {percent(most.stable)} with stable "
        f"{scope.stable.version}"
    )


def _drift_of(output: str, bins: Sequence[Bin], compared: int, bound: float) -> _Drift | None:
    """Return the drift of one output; None where a side never had it (then its answers mismatch)."""
    stable, candidate = sum(one.stable for one in bins), sum(one.candidate for one in bins)
    if not stable or not candidate:
        return None
    moved = shifts(bins)
    # The elements of one answer belong together, so there is no more evidence than there are requests.
    surely = surely_beyond(bound, len(bins), *(max(min(count, compared), 1) for count in (stable, candidate)))
    return _Drift(output, sum(one.weight for one in moved), surely, max(moved, key=lambda one: one.weight))


def _by_output(
    answers: Answers, keys: Iterable[str], value: str, make_bins: Callable[[_Counts], Sequence[Bin]]
) -> _Bins | Unanswered:
    bins: dict[str, Sequence[Bin]] = {}
    for key in keys:
        counted = counts_of(answers, key)
        if isinstance(counted, Unanswered):
            return counted
        bins |= {output: make_bins(_sides(counted, output, value)) for (output,) in counted.by(metrics.OUTPUT)}
    return dict(sorted(bins.items()))


def _sides(counted: Counted, output: str, value: str) -> _Counts:
    sums = counted.by(metrics.SIDE, value, **{metrics.OUTPUT: output})
    return {(side, label): count for (side, label), count in sums.items()}


def _label_bins(counts: _Counts) -> Sequence[Bin]:
    labels = sorted({label for _, label in counts})
    return merge_rare(
        [Bin(repr(label), counts.get((_STABLE, label), 0), counts.get((_CANDIDATE, label), 0)) for label in labels]
    )


def _score_bins(counts: _Counts) -> Sequence[Bin]:
    """Return bins out of cumulative counts."""
    bounds = sorted({label for _, label in counts}, key=bound_of)
    stable = _steps(counts.get((_STABLE, bound), 0) for bound in bounds)
    candidate = _steps(counts.get((_CANDIDATE, bound), 0) for bound in bounds)
    names = [_up_to(bound) for bound in bounds]
    return merge_adjacent([Bin(*each) for each in zip(names, stable, candidate, strict=True)])


def _steps(cumulative: Iterable[int]) -> list[int]:
    steps, before = [], 0
    for count in cumulative:
        steps.append(max(count - before, 0))
        before = max(count, before)
    return steps


def _up_to(bound: str) -> str:
    limit = bound_of(bound)
    return "a score above all bounds" if math.isinf(limit) else f"a score up to {short(limit)}"
