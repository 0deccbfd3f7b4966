"""One look at the gates: what to ask, and what the answers say."""

from collections.abc import Mapping
from datetime import datetime

from inferenceversion_operator.core.gates.answers import Answer
from inferenceversion_operator.core.gates.scope import Scope
from inferenceversion_operator.core.gates.verdict import Finding


def questions(scope: Scope, now: datetime) -> dict[str, str]:
    raise NotImplementedError


def judge(scope: Scope, answers: Mapping[str, Answer]) -> tuple[Finding, ...]:
    raise NotImplementedError
