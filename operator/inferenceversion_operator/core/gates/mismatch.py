"""The gate ``mismatch``: how many answers of the candidate differ, beyond how often stable differs from itself."""

from inferenceversion_operator.core.gates import asked, metrics
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.evidence import Claim, allowed_beside, enough_for
from inferenceversion_operator.core.gates.findings import finding, in_short, unanswered, weigh
from inferenceversion_operator.core.gates.reading import NO_DATA, Counted, counts_of
from inferenceversion_operator.core.gates.scope import Scope
from inferenceversion_operator.core.gates.text import decimal, percent, requests
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

NAME = "mismatch"
# A stable version that differs from itself more often hides small changes: a tolerance is missing.
_LOUD = 0.05
# The differ asks one request in five twice, whatever they hold. Where none of so many was, clients repeat a few
# requests, and it will not happen: stable is then taken to repeat itself, or no mismatch would ever be evidence.
_NEVER_ASKED_TWICE = 100


def mismatches(scope: Scope, answers: Answers) -> Finding:
    counted, twice = comparisons_of(answers), counts_of(answers, asked.NOISE)
    if isinstance(counted, Unanswered):
        return unanswered(NAME, counted)
    if isinstance(twice, Unanswered):
        return unanswered(NAME, twice)
    margin = scope.candidate.traffic.shadow.max_mismatch
    noise = Claim(twice.total(of=asked.MISMATCHED) or 0, twice.total(of=asked.PAIRS) or 0, margin)
    allowed, at_most = allowed_beside(noise.part, noise.whole, margin)
    claim = Claim(counted.total(of=asked.MISMATCHED) or 0, counted.total(of=asked.PAIRS) or 0, allowed)
    if not noise.whole and claim.whole >= _NEVER_ASKED_TWICE:
        at_most = allowed
    enough = enough_for(margin, scope.min_requests)
    verdict, reason = weigh(claim, enough, surely=Claim(claim.part, claim.whole, at_most))
    told = (
        f"the answers to {percent(claim.share)} of {requests(claim.whole)} differ from those of stable "
        f"{scope.stable.version}, {_noise(noise)}, bound {percent(margin)} more (shadow.maxMismatch)"
    )
    told += in_short(verdict, reason, enough)
    if verdict is not Verdict.PASS:
        told += _failed(answers) + _flips(answers)
    excess = decimal(round(claim.share - noise.share, 6)) if claim.whole else None
    return finding(NAME, verdict, reason, told, excess, f"<= {decimal(margin)}")


def comparisons_of(answers: Answers) -> Counted | Unanswered:
    """Return the counts of comparisons; there is one of all of them at least."""
    counted = counts_of(answers, asked.MISMATCHES)
    if isinstance(counted, Unanswered) or counted.total(of=asked.PAIRS) is not None:
        return counted
    return Unanswered(NO_DATA, "Prometheus has no comparison of this step yet")


def _noise(noise: Claim) -> str:
    if not noise.whole:
        return "which was never asked twice and is taken to repeat itself"
    itself = f"which differs from itself in {percent(noise.share)} of {noise.whole:,}"
    if noise.share > _LOUD:
        itself += " (set shadow.tolerance, that hides what has changed)"
    return itself


def _failed(answers: Answers) -> str:
    """Return which replays had no usable answer; an extra that nothing depends upon, as is ``_flips``."""
    counted = counts_of(answers, asked.FAILED)
    if isinstance(counted, Unanswered):
        return ""
    failed = {side: count for (side,), count in counted.by(metrics.SIDE).items() if count}
    told = {
        "candidate": "of those {} got no usable answer from the candidate",
        "stable": "{} more got none from stable and do not count",
        "both": "{} got none from either and do not count",
    }
    return "".join(f"; {text.format(f'{failed[side]:,}')}" for side, text in told.items() if side in failed)


def _flips(answers: Answers) -> str:
    """Return the most frequent change of a label."""
    counted = counts_of(answers, asked.FLIPS)
    if isinstance(counted, Unanswered):
        return ""
    flips = counted.by(metrics.OUTPUT, metrics.FLIP_FROM, metrics.FLIP_TO)
    if not any(flips.values()):
        return ""
    (output, before, after), count = max(flips.items(), key=lambda flip: (flip[1], flip[0]))
    return f"; most often {output} was {before!r} and is {after!r} ({count:,} times)"
