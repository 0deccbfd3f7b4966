"""From what is known to a finding: the three verdicts, worded and cut in one place."""

from inferenceversion_operator.core.conditions import storable
from inferenceversion_operator.core.gates.answers import Unanswered
from inferenceversion_operator.core.gates.evidence import Claim
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

# Limits of the CRD.
_REASON, _MESSAGE, _VALUE, _BOUND = 128, 4096, 32, 64

WITHIN = "WithinBound"
BEYOND = "BoundExceeded"
TOO_FEW = "TooFewRequests"
UNCLEAR = "NotSureYet"

NOTHING_YET = "no request was answered since the step began"

# So many bad ones fail a gate at least (where any are allowed): a hiccup is no evidence.
_FEWEST_BAD = 3


def finding(
    name: str, verdict: Verdict, reason: str, message: str, value: str | None = None, bound: str | None = None
) -> Finding:
    """Return a finding that the CRD takes."""
    return Finding(
        name=name,
        verdict=verdict,
        reason=_cut(reason, _REASON) or "Unknown",
        message=_cut(message, _MESSAGE),
        value=None if value is None else value[:_VALUE],
        bound=None if bound is None else bound[:_BOUND],
    )


def _cut(text: str, limit: int) -> str:
    text = storable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def unanswered(name: str, why: Unanswered) -> Finding:
    """Return a finding without a number."""
    return finding(name, Verdict.INCONCLUSIVE, why.reason, why.message)


def weigh(claim: Claim, enough: int, *, surely: Claim | None = None, fewest: int = 0) -> tuple[Verdict, str]:
    """Return the verdict on a claim, and the reason.

    Args:
        claim: what has to hold as it is counted.
        enough: of so many it is taken to hold.
        surely: what has to be refuted for a Fail, where it is more lenient than ``claim``.
        fewest: of fewer nothing is refuted.
    """
    strict = surely or claim
    bad = _FEWEST_BAD if strict.allowed > 0 else 1
    if strict.whole >= fewest and strict.part >= bad and strict.refuted and not claim.holds:
        return Verdict.FAIL, BEYOND
    if claim.whole < enough:
        return Verdict.INCONCLUSIVE, TOO_FEW
    if claim.holds:
        return Verdict.PASS, WITHIN
    return Verdict.INCONCLUSIVE, UNCLEAR


def in_short(verdict: Verdict, reason: str, enough: int) -> str:
    """Return what a message ends with while it can't be told."""
    if verdict is not Verdict.INCONCLUSIVE:
        return ""
    if reason == TOO_FEW:
        return f"; it takes {enough:,} requests to tell"
    return "; that may be chance, more requests will tell"
