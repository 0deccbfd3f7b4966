"""One look at the gates: what to ask Prometheus, and what its answers say.

    asked = questions(scope, now)           # key -> PromQL, for the adapter to send
    findings = judge(scope, answers)        # key -> answer; one finding a gate

``judge`` needs no time and raises nothing, whatever the answers hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from inferenceversion_operator.api.types import Gate
from inferenceversion_operator.core.gates import asked, drift, latency, mismatch, own, requests, success
from inferenceversion_operator.core.gates.answers import Answer, Answers
from inferenceversion_operator.core.gates.findings import finding
from inferenceversion_operator.core.gates.promql import windows_of
from inferenceversion_operator.core.gates.reading import NO_DATA
from inferenceversion_operator.core.gates.scope import Phase, Scope
from inferenceversion_operator.core.gates.scraped import scrape_problem
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

_OWN_NAME_LIMIT = 63  # of the CRD


@dataclass(frozen=True, slots=True)
class _Check:
    """One of the operator's gates.

    Attributes:
        needs: keys of the questions that it is judged by.
        source: key of the question whether what it counts is scraped.
    """

    name: str
    needs: tuple[str, ...]
    source: str
    judge: Callable[[Scope, Answers], Finding]


def questions(scope: Scope, now: datetime) -> dict[str, str]:
    """Return what to ask Prometheus at ``now``, as PromQL by key.

    The keys of a scope are the same at every look. Texts are long: send them in the body of a POST.
    """
    windows = windows_of(scope.since, now)
    checks = _checks(scope)
    keys = dict.fromkeys(key for check in checks for key in (check.source, *check.needs))
    known = asked.questions_of(scope)
    texts = {key: known[key](scope, windows) for key in keys}
    return texts | {own.key_of(gate): own.question(gate, scope, windows) for gate in _own_gates(scope)}


def judge(scope: Scope, answers: Mapping[str, Answer]) -> tuple[Finding, ...]:
    """Return what each gate says, in the order of the gates: the operator's, then the user's."""
    checks = _checks(scope)
    ours = [_trusted(check, scope, answers) for check in checks]
    names = {check.name for check in checks}
    theirs = []
    for gate in _own_gates(scope):
        name = _free_name(gate.name, names)
        names.add(name)
        theirs.append(own.within_bounds(name, gate, answers))
    return (*ours, *theirs)


def _checks(scope: Scope) -> tuple[_Check, ...]:
    if scope.phase is Phase.SHADOW:
        return _shadow(scope)
    if scope.phase is Phase.CANARY:
        return _canary(scope)
    return ()


def _shadow(scope: Scope) -> tuple[_Check, ...]:
    source, compared = asked.DIFFER_SCRAPED, asked.MISMATCHES
    labels = asked.keys_of(asked.LABELS, asked.outputs_of_labels(scope))
    scores = asked.keys_of(asked.SCORES, asked.outputs_of_scores(scope))
    checks = [
        _Check(requests.NAME, (asked.COMPARED,), source, requests.enough_requests),
        _Check(mismatch.NAME, (compared, asked.NOISE, asked.FAILED, asked.FLIPS), source, mismatch.mismatches),
    ]
    if labels:
        checks.append(_Check(drift.LABELS, (compared, *labels), source, drift.drift_of_labels))
    if scores:
        checks.append(_Check(drift.SCORES, (compared, *scores), source, drift.drift_of_scores))
    return (*checks, _success(scope), *_objectives(scope))


def _canary(scope: Scope) -> tuple[_Check, ...]:
    source = asked.SCRAPED
    answers = (asked.ANSWERS, asked.STABLE_ANSWERS, asked.STABLE_ANSWERS_EARLIER)
    times = (asked.TIMES, asked.STABLE_TIMES, asked.STABLE_TIMES_EARLIER)
    return (
        _Check(requests.NAME, (asked.REQUESTS,), source, requests.enough_requests),
        _success(scope),
        _Check(success.CLIENT_ERRORS, answers, source, success.client_errors),
        *_objectives(scope),
        *(
            _Check(quantile.beside_stable, times, source, partial(latency.beside_stable, quantile))
            for quantile in latency.QUANTILES
        ),
    )


def _success(scope: Scope) -> _Check:
    baseline = (asked.STABLE_ANSWERS, asked.STABLE_ANSWERS_EARLIER) if scope.candidate.slo.error_rate is None else ()
    return _Check(success.SUCCESS_RATE, (asked.ANSWERS, *baseline), asked.SCRAPED, success.success_rate)


def _objectives(scope: Scope) -> tuple[_Check, ...]:
    """Return the latency gates whose objective is set."""
    objectives = [(quantile, quantile.objective(scope.candidate.slo)) for quantile in latency.QUANTILES]
    return tuple(
        _Check(quantile.name, (asked.TIMES,), asked.SCRAPED, partial(latency.within_objective, quantile, objective))
        for quantile, objective in objectives
        if objective is not None
    )


def _trusted(check: _Check, scope: Scope, answers: Answers) -> Finding:
    """Return what a check says; it passes only on what Prometheus sees all of, and now. A Fail stays one."""
    says = check.judge(scope, answers)
    problem = scrape_problem(scope, answers, check.source)
    if problem is None or says.verdict is Verdict.FAIL:
        return says
    if says.verdict is Verdict.PASS:
        told = f"{says.message}; that does not count, because {problem.message}"
        return finding(check.name, Verdict.INCONCLUSIVE, problem.reason, told, says.value, says.bound)
    if says.reason == NO_DATA:
        return finding(check.name, Verdict.INCONCLUSIVE, problem.reason, problem.message)
    return says


def _own_gates(scope: Scope) -> tuple[Gate, ...]:
    return scope.candidate.traffic.gates if scope.phase is not Phase.STARTING else ()


def _free_name(wanted: str, taken: set[str]) -> str:
    """Return a name for a user's gate that no other has: status holds one gate a name."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = wanted[: _OWN_NAME_LIMIT - len(suffix)] + suffix
    return name
