"""The operator's own questions: a key and the PromQL behind it. The user's gates have theirs in ``own.py``."""

import re
from collections.abc import Callable, Mapping
from functools import partial

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.gates import metrics
from inferenceversion_operator.core.gates.promql import (
    Window,
    Windows,
    counted,
    quoted,
    roughly_counted,
    selector,
    together,
)
from inferenceversion_operator.core.gates.scope import Scope

SCRAPED = "candidate.scraped"
REQUESTS = "candidate.requests"
ANSWERS = "candidate.answers"
TIMES = "candidate.times"
STABLE_ANSWERS = "stable.answers"
STABLE_ANSWERS_EARLIER = "stable.answers.earlier"
STABLE_TIMES = "stable.times"
STABLE_TIMES_EARLIER = "stable.times.earlier"
DIFFER_SCRAPED = "differ.scraped"
COMPARED = "differ.compared"
MISMATCHES = "differ.mismatches"
NOISE = "differ.noise"
FAILED = "differ.failed"
FLIPS = "differ.flips"
LABELS = "differ.labels"  # and a number: one key for some outputs each
SCORES = "differ.scores"  # so here

# Values of the label ``of`` where one answer holds several numbers.
OF = "of"
SOURCES, AGE, SCRAPES, SECONDS = "sources", "age", "scrapes", "seconds"
ENDED, REFUSED = "ended", "refused"
PAIRS, MISMATCHED = "compared", "mismatched"

_DOORS = f'{metrics.DOOR}=~"{metrics.HTTP}|{metrics.GRPC}"'
_FLIPS_SHOWN = 3
# Outputs that one question is about: of each there are up to 2 x 51 labels or 2 x 33 bounds, and Prometheus' answers
# are read up to 1,000 series.
_OUTPUTS_AT_ONCE = 8
_FLOATS = frozenset({"FP16", "BF16", "FP32", "FP64"})

Question = Callable[[Scope, Windows], str]
Count = Callable[..., str]  # counted, or roughly_counted


def _guard(metric: str, version: InferenceVersion, *more: str) -> str:
    labels = {metrics.NAMESPACE: version.namespace, metrics.NAME: version_name(version.name)}
    return selector(metric, labels, *more)


def _differ(metric: str, scope: Scope, *more: str) -> str:
    labels = {
        metrics.NAMESPACE: scope.candidate.namespace,
        metrics.ENDPOINT: scope.candidate.endpoint,
        metrics.CANDIDATE: scope.candidate.version,
        metrics.STABLE: scope.stable.version,
    }
    return selector(metric, labels, *more)


def _scraped(series: str, window: Window) -> str:
    """Ask how many sources are scraped, how old their last samples are, and how many there are in the window."""
    return together(
        {
            SOURCES: f"count({series})",
            AGE: f"time() - min(timestamp({series}))",
            SCRAPES: f"max(count_over_time({window.over(series)}))",
            SECONDS: f"vector({window.seconds})",
        },
        OF,
    )


def _answers(version: InferenceVersion, window: Window, count: Count = counted) -> str:
    """Ask how requests ended: by class, by status of gRPC, and with neither label those that broke off.

    They are several metrics in one selector, which PromQL can count because no two of them have the same labels.
    """
    names = f"{metrics.ANSWERS}|{metrics.GRPC_CALLS}|{metrics.BROKEN_OFF}"
    ended = _guard("", version, f'__name__=~"{names}"')
    refused = _guard(metrics.REFUSED, version, f'{metrics.DOOR}="{metrics.GRPC}"')
    by = (metrics.DOOR, metrics.ANSWER_CLASS, metrics.GRPC_STATUS)
    return together({ENDED: count(ended, window, *by), REFUSED: count(refused, window)}, OF)


def _times(version: InferenceVersion, window: Window, count: Count = counted) -> str:
    return count(_guard(metrics.TIMES, version, _DOORS), window, metrics.BOUND)


def _mismatches(scope: Scope, windows: Windows) -> str:
    parts = {
        PAIRS: counted(_differ(metrics.COMPARED, scope), windows.step),
        MISMATCHED: counted(_differ(metrics.MISMATCHED, scope), windows.step),
    }
    return together(parts, OF)


def _noise(scope: Scope, windows: Windows) -> str:
    parts = {
        PAIRS: counted(_differ(metrics.NOISE_COMPARED, scope), windows.step),
        MISMATCHED: counted(_differ(metrics.NOISE_MISMATCHED, scope), windows.step),
    }
    return together(parts, OF)


def _flips(scope: Scope, windows: Windows) -> str:
    by = (metrics.OUTPUT, metrics.FLIP_FROM, metrics.FLIP_TO)
    return f"topk({_FLIPS_SHOWN}, {counted(_differ(metrics.FLIPS, scope), windows.step, *by)})"


QUESTIONS: dict[str, Question] = {
    SCRAPED: lambda scope, windows: _scraped(_guard(metrics.GUARD_LIVE, scope.candidate), windows.step),
    REQUESTS: lambda scope, windows: counted(_guard(metrics.ANSWERS, scope.candidate, _DOORS), windows.whole),
    ANSWERS: lambda scope, windows: _answers(scope.candidate, windows.step),
    TIMES: lambda scope, windows: _times(scope.candidate, windows.step),
    STABLE_ANSWERS: lambda scope, windows: _answers(scope.stable, windows.step),
    STABLE_ANSWERS_EARLIER: lambda scope, windows: _answers(scope.stable, windows.earlier, roughly_counted),
    STABLE_TIMES: lambda scope, windows: _times(scope.stable, windows.step),
    STABLE_TIMES_EARLIER: lambda scope, windows: _times(scope.stable, windows.earlier, roughly_counted),
    DIFFER_SCRAPED: lambda scope, windows: _scraped(_differ(metrics.COMPARED, scope), windows.step),
    COMPARED: lambda scope, windows: counted(_differ(metrics.COMPARED, scope), windows.whole),
    MISMATCHES: _mismatches,
    NOISE: _noise,
    FAILED: lambda scope, windows: counted(_differ(metrics.REPLAYS_FAILED, scope), windows.step, metrics.SIDE),
    FLIPS: _flips,
}


def questions_of(scope: Scope) -> Mapping[str, Question]:
    """Return all questions that may be asked in a scope."""
    per_output = [(LABELS, outputs_of_labels(scope), _labels), (SCORES, outputs_of_scores(scope), _scores)]
    return QUESTIONS | {
        key: partial(ask, outputs)
        for prefix, all_outputs, ask in per_output
        for key, outputs in _at_once(prefix, all_outputs).items()
    }


def outputs_of_labels(scope: Scope) -> tuple[str, ...]:
    """Return the outputs that hold texts; the contract is stable's, as it is for the differ."""
    return tuple(output.name for output in scope.stable.outputs if output.datatype == "BYTES")


def outputs_of_scores(scope: Scope) -> tuple[str, ...]:
    """Return the outputs that hold floats; the contract is stable's, as it is for the differ."""
    return tuple(output.name for output in scope.stable.outputs if output.datatype in _FLOATS)


def keys_of(prefix: str, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of the questions about some outputs; ``prefix`` is ``LABELS`` or ``SCORES``."""
    return tuple(_at_once(prefix, outputs))


def _at_once(prefix: str, outputs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {
        f"{prefix}.{number}": outputs[start : start + _OUTPUTS_AT_ONCE]
        for number, start in enumerate(range(0, len(outputs), _OUTPUTS_AT_ONCE))
    }


def _labels(outputs: tuple[str, ...], scope: Scope, windows: Windows) -> str:
    series = _differ(metrics.LABELS, scope, _one_of(outputs))
    return counted(series, windows.step, metrics.OUTPUT, metrics.SIDE, metrics.LABEL)


def _scores(outputs: tuple[str, ...], scope: Scope, windows: Windows) -> str:
    series = _differ(metrics.SCORES, scope, _one_of(outputs))
    return counted(series, windows.step, metrics.OUTPUT, metrics.SIDE, metrics.BOUND)


def _one_of(outputs: tuple[str, ...]) -> str:
    return f"{metrics.OUTPUT}=~{quoted('|'.join(re.escape(output) for output in outputs))}"
