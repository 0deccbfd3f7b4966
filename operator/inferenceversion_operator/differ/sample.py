"""The last differences, for people: hashes and short texts; requests and answers only where they may be kept."""

import base64
import math
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from inferenceversion_operator.differ.compare import Difference, Element
from inferenceversion_operator.differ.judge import Answer, Judgement, Mirrored
from inferenceversion_operator.differ.labels import clean
from inferenceversion_operator.differ.plan import Plan

_TEXT = 200  # characters of a message
_PAYLOAD = 64 << 10  # bytes of a body that are kept
_PATH = 256

Json = dict[str, Any]


class Sample:
    """Keeps as many differences as the plan says; an older one makes room. Noise has a sample of its own."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._differences: deque[Json] = deque(maxlen=plan.sample_size)
        self._noise: deque[Json] = deque(maxlen=plan.sample_size)

    def keep(
        self, at: datetime, request: Mirrored, judgement: Judgement, answers: Mapping[str, Answer], *, noise: bool
    ) -> None:
        """Keep one mismatch; ``answers`` are by the side that gave them."""
        entry: Json = {
            "at": at.isoformat(timespec="milliseconds"),
            "protocol": request.protocol.value,
            "path": clean(request.path.encode(), _PATH),
            "requestHash": f"sha256:{request.digest}",
            "outputs": [_output(difference) for difference in judgement.differences],
        }
        if self._plan.keep_payloads:
            bodies = {"request": request.body, **{side: answer.body for side, answer in answers.items()}}
            entry["payloads"] = {name: _payload(body) for name, body in bodies.items()}
        (self._noise if noise else self._differences).append(entry)

    def document(self) -> Json:
        """Return all that is kept, the newest first, as JSON has it."""
        plan = self._plan
        return {
            "namespace": plan.namespace,
            "endpoint": plan.endpoint,
            "stable": {"version": plan.stable.version, "name": plan.stable.name},
            "candidate": {"version": plan.candidate.version, "name": plan.candidate.name},
            "tolerance": {"absolute": plan.tolerance.absolute, "relative": plan.tolerance.relative},
            "differences": [*reversed(self._differences)],
            "noise": [*reversed(self._noise)],
        }


def _output(difference: Difference) -> Json:
    return {
        "output": difference.output,
        "kind": difference.kind.value,
        "detail": clean(difference.detail.encode(), _TEXT),
        "count": difference.count,
        "rows": list(difference.rows),
        "elements": [_element(element) for element in difference.elements],
    }


def _element(element: Element) -> Json:
    return {"index": element.index, "stable": _value(element.stable), "candidate": _value(element.candidate)}


def _value(value: Any) -> Any:
    """Return a value as strict JSON has it: no NaN, no infinity, no long text."""
    if isinstance(value, bytes):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _payload(body: bytes) -> Json:
    kept: Json = {"bytes": len(body), "base64": base64.b64encode(body[:_PAYLOAD]).decode()}
    return kept | ({"cut": True} if len(body) > _PAYLOAD else {})
