"""The gates ``success-rate`` and ``client-errors``: how requests ended."""

from collections.abc import Mapping
from dataclasses import dataclass

from inferenceversion_operator.core.gates import asked, metrics
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.evidence import Claim, allowed_beside, enough_for
from inferenceversion_operator.core.gates.findings import NOTHING_YET, finding, in_short, unanswered, weigh
from inferenceversion_operator.core.gates.reading import NO_DATA, Counted, counts_of
from inferenceversion_operator.core.gates.scope import Scope
from inferenceversion_operator.core.gates.text import decimal, percent, requests
from inferenceversion_operator.core.gates.verdict import Finding

SUCCESS_RATE = "success-rate"
CLIENT_ERRORS = "client-errors"

# UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS: what is a 5xx in HTTP. Calls of methods
# that there are not never reach Triton, so an UNIMPLEMENTED is of its own making.
_GRPC_FAILED = ("2", "4", "12", "13", "14", "15")
# The client's doing, a 4xx in HTTP: all others but OK and CANCELLED.
_GRPC_REJECTED = ("3", "5", "6", "7", "8", "9", "10", "11", "16")

ALLOWED_ABOVE_STABLE = 0.01
BASELINE_NEEDED = 20  # requests


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How requests ended. What a client gave up is in none of the numbers.

    Attributes:
        failed: the service's fault: 5xx, a gRPC status of that kind, an answer that broke off.
        rejected: the client's fault, or so the service said: 4xx.
    """

    total: int
    failed: int
    rejected: int
    detail: str = ""  # of the failed ones, for people


def outcomes_of(answers: Answers, key: str) -> Outcomes | Unanswered:
    counted = counts_of(answers, key)
    if isinstance(counted, Unanswered):
        return counted
    if counted.total(of=asked.ENDED) is None:
        return Unanswered(NO_DATA, "Prometheus has no count of answers of this step yet")
    return _outcomes(counted)


def _outcomes(counted: Counted) -> Outcomes:
    classes = _by(counted, metrics.ANSWER_CLASS, {metrics.DOOR: metrics.HTTP})
    statuses = _by(counted, metrics.GRPC_STATUS, {})
    broken = _by(counted, metrics.DOOR, {metrics.ANSWER_CLASS: "", metrics.GRPC_STATUS: ""})
    refused = counted.total(of=asked.REFUSED) or 0
    failures = {
        "5xx": classes.get("5", 0),
        **{f"gRPC status {code}": statuses.get(code, 0) for code in _GRPC_FAILED},
        "broken off": sum(broken.values()),
        "gRPC refused for want of memory": refused,
    }
    return Outcomes(
        # The status of a gRPC call that broke off or was refused is counted nowhere else.
        total=sum(classes.values()) + sum(statuses.values()) + broken.get(metrics.GRPC, 0) + refused,
        failed=sum(failures.values()),
        rejected=classes.get("4", 0) + sum(statuses.get(code, 0) for code in _GRPC_REJECTED),
        detail=", ".join(f"{name}: {count:,}" for name, count in failures.items() if count),
    )


def _by(counted: Counted, label: str, equal: Mapping[str, str]) -> dict[str, int]:
    """Return counts of what ended by the values of one label; what has none is left out."""
    return {value: count for (value,), count in counted.by(label, of=asked.ENDED, **equal).items() if value}


def success_rate(scope: Scope, answers: Answers) -> Finding:
    """Hold the share of failed requests against slo.errorRate; where that is unset, against stable's."""
    outcomes = outcomes_of(answers, asked.ANSWERS)
    if isinstance(outcomes, Unanswered):
        return unanswered(SUCCESS_RATE, outcomes)
    allowed = scope.candidate.slo.error_rate
    if allowed is not None:
        claim = surely = Claim(outcomes.failed, outcomes.total, allowed)
        against = f"at most {percent(allowed)} may (slo.errorRate)"
    else:
        baseline = baseline_of(answers)
        if isinstance(baseline, Unanswered):
            return unanswered(SUCCESS_RATE, baseline)
        allowed, at_most = allowed_beside(baseline.failed, baseline.total, ALLOWED_ABOVE_STABLE)
        claim = Claim(outcomes.failed, outcomes.total, allowed)
        # Without a baseline the margin itself is the bound: a candidate that fails is not let through for want of one.
        surely = Claim(outcomes.failed, outcomes.total, at_most if baseline.total else allowed)
        against = f"at most {percent(allowed)} may (slo.errorRate is not set; {_stable_had(scope, baseline, 'failed')})"
    enough = enough_for(allowed, scope.min_requests)
    verdict, reason = weigh(claim, enough, surely=surely)
    detail = f" ({outcomes.detail})" if outcomes.detail else ""
    told = (
        f"{percent(claim.share)} of {requests(claim.whole)} failed{detail}, {against}" if claim.whole else NOTHING_YET
    )
    value = decimal(1 - claim.share) if claim.whole else None
    told += in_short(verdict, reason, enough)
    return finding(SUCCESS_RATE, verdict, reason, told, value, f">= {decimal(1 - allowed)}")


def client_errors(scope: Scope, answers: Answers) -> Finding:
    """Hold the share of requests that the candidate calls the client's fault against stable's.

    A version that understands its clients no longer (an input was renamed) answers 400 to all, and none of that is a
    failure of a service.
    """
    outcomes = outcomes_of(answers, asked.ANSWERS)
    if isinstance(outcomes, Unanswered):
        return unanswered(CLIENT_ERRORS, outcomes)
    baseline = baseline_of(answers)
    if isinstance(baseline, Unanswered):
        return unanswered(CLIENT_ERRORS, baseline)
    allowed, at_most = allowed_beside(baseline.rejected, baseline.total, ALLOWED_ABOVE_STABLE)
    claim = Claim(outcomes.rejected, outcomes.total, allowed)
    enough = enough_for(allowed, scope.min_requests)
    verdict, reason = weigh(claim, enough, surely=Claim(claim.part, claim.whole, at_most))
    told = (
        f"{percent(claim.share)} of {requests(claim.whole)} were refused as the client's fault (4xx, or a gRPC status "
        f"of that kind), {_stable_had(scope, baseline, 'rejected')} and {percent(allowed)} is allowed"
        if claim.whole
        else NOTHING_YET
    )
    told += in_short(verdict, reason, enough)
    value = decimal(claim.share) if claim.whole else None
    return finding(CLIENT_ERRORS, verdict, reason, told, value, f"<= {decimal(allowed)}")


def baseline_of(answers: Answers) -> Outcomes | Unanswered:
    """Return stable's answers of the same time, or of the hours before where it had too few; none is no error."""
    same_time = _or_none(outcomes_of(answers, asked.STABLE_ANSWERS))
    if isinstance(same_time, Unanswered) or same_time.total >= BASELINE_NEEDED:
        return same_time
    earlier = _or_none(outcomes_of(answers, asked.STABLE_ANSWERS_EARLIER))
    if isinstance(earlier, Unanswered) or earlier.total >= BASELINE_NEEDED:
        return earlier
    return Outcomes(0, 0, 0)


def _or_none(outcomes: Outcomes | Unanswered) -> Outcomes | Unanswered:
    if isinstance(outcomes, Unanswered) and outcomes.reason == NO_DATA:
        return Outcomes(0, 0, 0)
    return outcomes


def _stable_had(scope: Scope, baseline: Outcomes, what: str) -> str:
    if not baseline.total:
        return f"stable {scope.stable.version} has answered too few to compare with"
    part: int = getattr(baseline, what)
    return f"stable {scope.stable.version} had {percent(part / baseline.total)} of {baseline.total:,}"
