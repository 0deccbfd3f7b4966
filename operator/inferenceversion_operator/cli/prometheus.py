"""What Prometheus has of the two versions of a release: range queries, for plots; the gates ask for themselves."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.cli.views.report.evidence import Point, Report, Series
from inferenceversion_operator.core.conditions import parse_timestamp
from inferenceversion_operator.core.gates import metrics
from inferenceversion_operator.core.gates.promql import selector

_TIMEOUT_S = 10.0
_POINTS = 200
_MOST_BYTES = 16 << 20


class PrometheusError(Exception):
    """It can't be asked, or does not answer as Prometheus does; the text names the address."""


def fetch_series(url: str, report: Report, names: Mapping[str, str]) -> Report:
    """Return the report with the measures of both versions over the time of the release.

    Args:
        url: of Prometheus, without ``/api/v1``.
        names: the name of the InferenceVersion, by version.

    Raises:
        PrometheusError: there is no answer.
    """
    if not report.since or not report.until:
        return report
    begin, end = (parse_timestamp(moment).timestamp() for moment in (report.since, report.until))
    margin = max(15.0, 0.04 * (end - begin))
    step = max(1, math.ceil((end - begin + 2 * margin) / _POINTS))
    window, found = max(30, 4 * step), []
    for version, name in names.items():
        for measure, query in _queries(report.namespace, name, window).items():
            params = {"query": query, "start": f"{begin - margin:.3f}", "end": f"{end + margin:.3f}", "step": str(step)}
            points = tuple(_points(_ask(url, params)))
            found.append(Series(measure, version, points))
    return replace(report, series=tuple(found), series_window_seconds=window)


def _queries(namespace: str, name: str, window_s: int) -> dict[str, str]:
    labels = {metrics.NAMESPACE: namespace, metrics.NAME: version_name(name)}
    doors = f'{metrics.DOOR}=~"{metrics.HTTP}|{metrics.GRPC}"'
    times = f"sum by ({metrics.BOUND}) (rate({selector(metrics.TIMES, labels, doors)}[{window_s}s]))"
    http = f'{metrics.DOOR}="{metrics.HTTP}"'
    answers = f"sum(rate({selector(metrics.ANSWERS, labels, http)}[{window_s}s]))"
    broken = selector(metrics.ANSWERS, {**labels, metrics.ANSWER_CLASS: "5"}, http)
    return {
        "p95": f"histogram_quantile(0.95, {times})",
        "p99": f"histogram_quantile(0.99, {times})",
        "success": f"100 * (1 - (sum(rate({broken}[{window_s}s])) or vector(0)) / {answers})",
        "requests": f"sum(rate({selector(metrics.ANSWERS, labels, doors)}[{window_s}s]))",
    }


def _ask(url: str, params: Mapping[str, str]) -> Any:
    import urllib3  # noqa: PLC0415 - other commands don't wait for it

    address = f"{url.rstrip('/')}/api/v1/query_range"
    try:
        answer = urllib3.request(
            "POST",
            address,
            body=urlencode(params),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            timeout=_TIMEOUT_S,
            retries=False,
            preload_content=False,
        )
        body = answer.read(_MOST_BYTES)
        told = json.loads(body)
    except urllib3.exceptions.HTTPError as error:
        raise PrometheusError(f"Prometheus at {url} can't be asked: {error}") from error
    except ValueError as error:
        raise PrometheusError(f"what answers at {url} is not Prometheus") from error
    if not isinstance(told, dict) or told.get("status") != "success":
        raise PrometheusError(f"Prometheus at {url}: {told.get('error') if isinstance(told, dict) else 'no answer'}")
    return told["data"]["result"]


def _points(result: Any) -> Iterator[Point]:
    """Yield the points of the first series; the queries give one at most. NaN is nothing."""
    for at, text in result[0]["values"] if result else ():
        value = float(text)
        yield Point(float(at), value if math.isfinite(value) else None)
