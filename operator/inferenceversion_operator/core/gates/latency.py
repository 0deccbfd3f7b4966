"""The gates ``p95`` and ``p99`` against the SLO, ``p95-vs-stable`` and ``p99-vs-stable`` against stable."""

import math
from dataclasses import dataclass

from inferenceversion_operator.api.types import Slo
from inferenceversion_operator.core.gates import asked
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.evidence import Claim, enough_for
from inferenceversion_operator.core.gates.findings import NOTHING_YET, finding, in_short, unanswered, weigh
from inferenceversion_operator.core.gates.reading import NO_DATA
from inferenceversion_operator.core.gates.scope import Scope
from inferenceversion_operator.core.gates.text import decimal, ms, percent, requests, short
from inferenceversion_operator.core.gates.times import Times, times_of
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

# Requests of which a latency gate fails at the earliest: the first ones of a pod are its slowest.
_FEWEST_TO_FAIL = 20
# So much more than stable is never held against a candidate: the guard counts whole milliseconds.
_SLACK_MS = 5.0


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile that has gates."""

    name: str  # as in slo
    share: float

    @property
    def slower(self) -> float:
        """Return the share of requests that may be slower."""
        return 1 - self.share

    @property
    def enough(self) -> int:
        """Return of how many requests at most one may be slower: the fewest of which the quantile says something."""
        return round(1 / self.slower)

    @property
    def beside_stable(self) -> str:
        return f"{self.name}-vs-stable"

    def objective(self, slo: Slo) -> float | None:
        """Return the objective in milliseconds."""
        return slo.p95_ms if self.name == "p95" else slo.p99_ms


P95 = Quantile("p95", 0.95)
P99 = Quantile("p99", 0.99)
QUANTILES = (P95, P99)


def within_objective(quantile: Quantile, objective: float, scope: Scope, answers: Answers) -> Finding:
    """Decide on the bucket that ends at the objective: it is exact where a quantile is interpolated."""
    times = times_of(answers, asked.TIMES)
    if isinstance(times, Unanswered):
        return unanswered(quantile.name, times)
    if not times.has_bound(objective):
        told = (
            f"the guard's histogram has no bound at {ms(objective)} (slo.{quantile.name}): does a relabelling drop it?"
        )
        return unanswered(quantile.name, Unanswered(NO_DATA, told))
    claim = Claim(times.slower_than(objective), times.total, quantile.slower)
    enough = enough_for(quantile.slower, scope.min_requests)
    verdict, reason = weigh(claim, enough, fewest=_FEWEST_TO_FAIL)
    bound = f"bound {ms(objective)} (slo.{quantile.name})"
    told = _told(quantile, times, bound, claim) + in_short(verdict, reason, enough)
    value = _value(quantile, times)
    return finding(quantile.name, verdict, reason, told, value, f"<= {decimal(objective)}")


def beside_stable(quantile: Quantile, scope: Scope, answers: Answers) -> Finding:
    """Hold the candidate's quantile against so many times stable's of the same time."""
    name = quantile.beside_stable
    times, baseline = times_of(answers, asked.TIMES), _baseline(quantile, answers)
    if isinstance(times, Unanswered):
        return unanswered(name, times)
    if isinstance(baseline, Unanswered):
        return unanswered(name, baseline)
    if not baseline.total:
        return _without_baseline(quantile, scope)
    ratio, stable_took = scope.candidate.traffic.canary.max_latency_ratio, baseline.quantile(quantile.share)
    near = times.bound_from(_allowed(ratio, stable_took))
    surely = times.bound_from(_allowed(ratio, baseline.quantile_at_most(quantile.share)))
    claim = Claim(times.slower_than(near), times.total, quantile.slower)
    enough = enough_for(quantile.slower, scope.min_requests)
    verdict, reason = weigh(
        claim,
        enough,
        surely=Claim(times.slower_than(surely), times.total, quantile.slower),
        fewest=_FEWEST_TO_FAIL,
    )
    stable = f"{_time(baseline, stable_took)} over {requests(baseline.total)}"
    bound = f"bound {_time(times, near)}, {short(ratio)} times that of stable {scope.stable.version} ({stable})"
    told = _told(quantile, times, bound, claim) + in_short(verdict, reason, enough)
    shown = None if math.isinf(near) else f"<= {decimal(near)}"
    return finding(name, verdict, reason, told, _value(quantile, times), shown)


def _allowed(ratio: float, stable_took: float) -> float:
    return stable_took + max((ratio - 1) * stable_took, _SLACK_MS) if math.isfinite(stable_took) else math.inf


def _baseline(quantile: Quantile, answers: Answers) -> Times | Unanswered:
    """Return stable's times of the same time, or of the hours before where it had too few; none is no error."""
    same_time = _or_none(times_of(answers, asked.STABLE_TIMES))
    if isinstance(same_time, Unanswered) or same_time.total >= quantile.enough:
        return same_time
    earlier = _or_none(times_of(answers, asked.STABLE_TIMES_EARLIER))
    if isinstance(earlier, Unanswered) or earlier.total >= quantile.enough:
        return earlier
    return Times()


def _or_none(times: Times | Unanswered) -> Times | Unanswered:
    return Times() if isinstance(times, Unanswered) and times.reason == NO_DATA else times


def _without_baseline(quantile: Quantile, scope: Scope) -> Finding:
    """Leave it to the objective, which protects as well; hold where there is none."""
    told = (
        f"stable {scope.stable.version} answered fewer than {requests(quantile.enough)}, in this step and in the hours "
        "before"
    )
    objective = quantile.objective(scope.candidate.slo)
    if objective is not None:
        told += f": there is nothing to compare with, and {ms(objective)} (slo.{quantile.name}) is what counts"
        return finding(quantile.beside_stable, Verdict.PASS, "NoBaseline", told)
    told += f": send it more, or give the next version a slo.{quantile.name} to be held against"
    return finding(quantile.beside_stable, Verdict.INCONCLUSIVE, "NoBaseline", told)


def _told(quantile: Quantile, times: Times, bound: str, claim: Claim) -> str:
    if not times.total:
        return f"{NOTHING_YET}, {bound}"
    took = _time(times, times.quantile(quantile.share))
    slower = f"{percent(claim.share)} were slower" if claim.part else "none was slower"
    return f"{quantile.name} is {took} over {requests(times.total)}, {bound}: {slower}"


def _time(times: Times, milliseconds: float) -> str:
    if math.isinf(milliseconds):
        return f"above {ms(_last(times))}"
    return ms(milliseconds)


def _last(times: Times) -> float:
    """Return the largest bound that is one."""
    return times.bounds[-2] if len(times.bounds) > 1 else 0.0


def _value(quantile: Quantile, times: Times) -> str | None:
    if not times.total:
        return None
    took = times.quantile(quantile.share)
    return decimal(_last(times) if math.isinf(took) else round(took, 1))
