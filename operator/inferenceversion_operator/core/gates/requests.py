"""The gate ``requests``: whether there were enough of them since the step began. It never fails."""

from inferenceversion_operator.core.gates import asked
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.findings import TOO_FEW, finding, unanswered
from inferenceversion_operator.core.gates.reading import NO_DATA, counts_of
from inferenceversion_operator.core.gates.scope import Phase, Scope
from inferenceversion_operator.core.gates.text import requests
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

NAME = "requests"


def enough_requests(scope: Scope, answers: Answers) -> Finding:
    shadow = scope.phase is Phase.SHADOW
    counted = counts_of(answers, asked.COMPARED if shadow else asked.REQUESTS)
    if isinstance(counted, Unanswered):
        return unanswered(NAME, counted)
    count = counted.total()
    if count is None:
        return unanswered(NAME, Unanswered(NO_DATA, "Prometheus has no count of requests of this step yet"))
    version, needed = scope.candidate.version, scope.min_requests
    done = f"were compared with {scope.stable.version}" if shadow else f"were answered by {version}"
    field = "traffic.shadow.minRequests" if shadow else "minRequests of the step"
    told = f"{requests(count)} {done} since the step began, {needed:,} are needed ({field})"
    verdict, reason = (Verdict.PASS, "Enough") if count >= needed else (Verdict.INCONCLUSIVE, TOO_FEW)
    return finding(NAME, verdict, reason, told, str(count), f">= {needed}")
