"""Lines on a plot of time: numbers in, coordinates out; ``page`` writes them as SVG."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from inferenceversion_operator.cli.views.report.evidence import Point

WIDTH, HEIGHT = 720, 230
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 26, 30
_TICKS = 5
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
# Seconds between two marks of time that a person reads well.
_NICE_SECONDS = (
    *(1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 4, 6, 12)),
    *(n * _DAY for n in (1, 2, 7)),
)
_MARKS = 7


@dataclass(frozen=True, slots=True)
class Line:
    """A line; ``role`` is candidate or stable, and its colour."""

    name: str
    role: str
    points: tuple[Point, ...]
    area: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time with a name, drawn behind the lines."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Bound:
    """What a value is held against."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Tick:
    at: float  # pixels
    text: str


@dataclass(frozen=True, slots=True)
class Path:
    name: str
    role: str
    line: str  # the d of an SVG path
    area: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with every coordinate in pixels."""

    title: str
    paths: tuple[Path, ...]
    boxes: tuple[Box, ...]
    bounds: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class _Scale:
    begin: float
    end: float
    low: float
    high: float

    def x(self, at: float) -> float:
        share = (at - self.begin) / (self.end - self.begin)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def plot(
    title: str,
    lines: Sequence[Line],
    *,
    between: tuple[float, float],
    unit: str,
    spans: Iterable[Span] = (),
    bounds: Iterable[Bound] = (),
    y_range: tuple[float, float] | None = None,
) -> Plot:
    """Place lines.

    Args:
        between: first and last moment, seconds since 1970.
        unit: stands behind the numbers of the vertical axis.
        y_range: lowest and highest value; from the lines and bounds where unset.
    """
    begin, end = between
    bounds = tuple(bounds)
    low, high = y_range or _range([*_values(lines), *(bound.value for bound in bounds)])
    scale = _Scale(begin, max(end, begin + 1.0), low, high)
    floor = scale.y(low)
    return Plot(
        title=title,
        paths=tuple(_path(line, scale, floor) for line in lines if any(p.value is not None for p in line.points)),
        boxes=tuple(_box(span, scale) for span in spans if span.end > begin and span.begin < scale.end),
        bounds=tuple(Tick(scale.y(bound.value), bound.name) for bound in bounds),
        x_ticks=tuple(Tick(scale.x(at), _clock(at, scale.end - scale.begin)) for at in _moments(begin, scale.end)),
        y_ticks=tuple(Tick(scale.y(v), f"{_short(v)}{unit}") for v in _nice(low, high)),
    )


def stairs(points: Iterable[tuple[float, float]]) -> tuple[Point, ...]:
    """Return the points of a value that holds until the next one."""
    drawn: list[Point] = []
    for at, value in points:
        if drawn and drawn[-1].value != value:
            drawn.append(Point(at, drawn[-1].value))
        drawn.append(Point(at, value))
    return tuple(drawn)


def _values(lines: Iterable[Line]) -> list[float]:
    return [point.value for line in lines for point in line.points if point.value is not None]


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return a range from 0, or a bit below the lowest where all values are near each other and far from 0."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if low > 0 and low > 0.8 * high:
        return low - 0.2 * (high - low or high * 0.1), high + 0.2 * (high - low or high * 0.1)
    return min(0.0, low), high * 1.15 if high > 0 else 1.0


def _path(line: Line, scale: _Scale, floor: float) -> Path:
    runs: list[list[tuple[float, float]]] = [[]]
    for point in line.points:
        if point.value is None or not scale.begin <= point.at <= scale.end:
            runs.append([])
        else:
            runs[-1].append((scale.x(point.at), scale.y(point.value)))
    drawn = [run for run in runs if run]
    text = " ".join(_polyline(run) for run in drawn)
    area = " ".join(f"{_polyline(run)} L{run[-1][0]} {floor} L{run[0][0]} {floor} Z" for run in drawn)
    return Path(line.name, line.role, text, area if line.area else "")


def _polyline(run: Sequence[tuple[float, float]]) -> str:
    # A run of one point is a dot: a line of no length with round ends.
    points = run if len(run) > 1 else [run[0], run[0]]
    return "M" + " L".join(f"{x} {y}" for x, y in points)


def _box(span: Span, scale: _Scale) -> Box:
    x = scale.x(max(span.begin, scale.begin))
    return Box(span.name, x, round(scale.x(min(span.end, scale.end)) - x, 1))


def _nice(low: float, high: float) -> list[float]:
    """Return round numbers between two."""
    raw = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _moments(begin: float, end: float) -> list[float]:
    length = end - begin
    step = next((s for s in _NICE_SECONDS if length / s <= _MARKS), _NICE_SECONDS[-1] * math.ceil(length / 4e6))
    return [float(at) for at in range(math.ceil(begin / step) * step, int(end) + 1, step)]


def _clock(at: float, length: float) -> str:
    form = "%m-%d %H:%M" if length > _DAY else "%H:%M:%S" if length < 10 * _MINUTE else "%H:%M"
    return datetime.fromtimestamp(at, UTC).strftime(form)


def _short(value: float) -> str:
    return f"{value:.6g}"
