"""A report as one page of HTML: no script, nothing from the network, light and dark."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from statistics import median
from typing import Any

import jinja2

from inferenceversion_operator import __version__
from inferenceversion_operator.cli.views.age import span
from inferenceversion_operator.cli.views.report import chart
from inferenceversion_operator.cli.views.report.chart import Bound, Line, Plot, Span
from inferenceversion_operator.cli.views.report.evidence import UNDER_WAY, Report, Series, StepView
from inferenceversion_operator.core.conditions import parse_timestamp

MEASURES = {
    "p95": ("95 of 100 answers within", " ms"),
    "p99": ("99 of 100 answers within", " ms"),
    "success": ("HTTP answers that are not 5xx", " %"),
    "requests": ("Requests a second", ""),
}

_GATES = {"p95": "p95", "p99": "p99", "success": "success-rate"}


def make_page(report: Report) -> str:
    """Return the page."""
    between = _between(report)
    return _template().render(
        report=report,
        under_way=report.outcome == UNDER_WAY,
        took=_took(report),
        steps=[(step, _lasted(step, report.until)) for step in report.steps],
        weights=_weights(report, between) if between else None,
        plots=[_measure(report, name, between) for name in _measured(report)] if between else [],
        summary=[row for name in _measured(report) for row in _rows(report, name)],
        frame=chart,
        made_by=f"kubectl iv {__version__}",
    )


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader(__package__, "")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.j2")


def _between(report: Report) -> tuple[float, float] | None:
    """Return first and last moment of the plots; None where the release has no beginning."""
    if not report.since or not report.until:
        return None
    begin, end = _seconds(report.since), _seconds(report.until)
    margin = max(1.0, (end - begin) * 0.04)
    return begin - margin, end + margin


def _seconds(moment: str) -> float:
    return parse_timestamp(moment).timestamp()


def _took(report: Report) -> str | None:
    return span(_seconds(report.until) - _seconds(report.since)) if report.since and report.until else None


def _lasted(step: StepView, until: str | None) -> str:
    end = step.until or until
    return span(_seconds(end) - _seconds(step.since)) if step.since and end else "never began"


def _weights(report: Report, between: tuple[float, float]) -> Plot:
    """Return the share of live requests over time: where it ended is seen at the right edge."""
    begun = [(_seconds(step.since), float(step.weight)) for step in report.steps if step.since]
    points = [(between[0], 0.0), *begun]
    end = _seconds(report.until) if report.until else between[1]
    last = {"Promoted": 100.0, UNDER_WAY: points[-1][1]}.get(report.outcome, 0.0)
    points += [(end, last), (between[1], last)]
    lines = [Line(report.version, "candidate", chart.stairs(points), area=True)]
    return chart.plot(
        f"Share of live requests of {report.version}",
        lines,
        between=between,
        unit=" %",
        spans=_spans(report),
        y_range=(0.0, 100.0),
    )


def _spans(report: Report) -> Iterator[Span]:
    for step in report.steps:
        end = step.until or report.until
        if step.since and end:
            name = "shadow" if step.phase == "Shadow" else f"{step.weight} %"
            yield Span(name, _seconds(step.since), _seconds(end))


def _measured(report: Report) -> list[str]:
    there = {series.measure for series in report.series if any(p.value is not None for p in series.points)}
    return [name for name in MEASURES if name in there]


def _of(report: Report, measure: str) -> list[Series]:
    return [series for series in report.series if series.measure == measure]


def _measure(report: Report, name: str, between: tuple[float, float]) -> Plot:
    title, unit = MEASURES[name]
    lines = [
        Line(series.version, "candidate" if series.version == report.version else "stable", series.points)
        for series in sorted(_of(report, name), key=lambda series: series.version == report.version)
    ]
    bounds = _bounds(report, name)
    return chart.plot(title, lines, between=between, unit=unit, spans=_spans(report), bounds=bounds)


def _bounds(report: Report, measure: str) -> list[Bound]:
    """Return the bound of the gate that looks at this measure, if it is a number."""
    for gate in report.gates:
        words = (gate.bound or "").split()
        if gate.name == _GATES.get(measure) and len(words) == 2 and words[0] in ("<=", ">="):
            number = _number(words[1])
            factor = 100 if measure == "success" else 1  # the gate has a share
            return [] if number is None else [Bound(f"bound {words[0]} {number * factor:g}", number * factor)]
    return []


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _rows(report: Report, measure: str) -> Iterator[dict[str, Any]]:
    title, unit = MEASURES[measure]
    for series in _of(report, measure):
        values: Sequence[float] = [point.value for point in series.points if point.value is not None]
        if values:
            yield {
                "measure": title,
                "version": series.version,
                "median": f"{median(values):.4g}{unit}",
                "lowest": f"{min(values):.4g}{unit}",
                "highest": f"{max(values):.4g}{unit}",
            }
