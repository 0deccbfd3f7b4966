"""The text of PromQL: selectors, windows, and how much a counter grew in one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

# A step that lasts longer is judged by its last six hours: it is what users get now, and Prometheus reads every
# sample of the window at every look.
LONGEST_WINDOW_S = 6 * 3600
# Requests are counted since the step began however long that is; this is only an end to what a clock may say.
_LONGEST_STEP_S = 30 * 24 * 3600
# A counter that has a sample within this time before a window is not new in it.
_KNOWN_BEFORE = "1h"


@dataclass(frozen=True, slots=True)
class Window:
    """Whole seconds, the last of them ``ago`` seconds before the query's own time."""

    seconds: int
    ago: int = 0

    def over(self, selector: str) -> str:
        """Return the samples of ``selector`` within the window."""
        return f"{selector}[{self.seconds}s]{_offset(self.ago)}"

    def before(self, selector: str) -> str:
        """Return samples of ``selector`` from before the window."""
        return f"{selector}[{_KNOWN_BEFORE}]{_offset(self.seconds + self.ago)}"


def _offset(seconds: int) -> str:
    return f" offset {seconds}s" if seconds else ""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one look.

    Attributes:
        step: since the step began, or its last hours where it is longer.
        whole: since the step began.
        earlier: the hours before it began, for a baseline that is missing in it.
    """

    step: Window
    whole: Window
    earlier: Window


def windows_of(since: datetime, now: datetime) -> Windows:
    """Return the windows of a look at ``now``; one that began less than a second ago (or later) has one second."""
    age = min(max(int((now - since).total_seconds()), 1), _LONGEST_STEP_S)
    return Windows(Window(min(age, LONGEST_WINDOW_S)), Window(age), Window(LONGEST_WINDOW_S, ago=age))


def quoted(text: str) -> str:
    r"""Return ``text`` as a string of PromQL.

    >>> print(quoted('a"b'))
    "a\"b"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def selector(metric: str, equals: Mapping[str, str], *more: str) -> str:
    """Return ``metric{...}``; ``more`` are matchers as they are."""
    matchers = [f"{name}={quoted(value)}" for name, value in equals.items()]
    return f"{metric}{{{','.join((*matchers, *more))}}}"


def counted(series: str, window: Window, *by: str) -> str:
    """Return by how much the counters of ``series`` grew within the window, summed by the labels ``by``.

    ``increase()`` alone is not good enough: it misses the first value of a counter that appears within the window (the
    first error of its kind, a new pod), and it guesses beyond the first and the last sample, so that twenty requests
    may be 31. Here a counter without a reset is counted exactly: its last value less its first one in the window, or
    its whole last value if it is new. Where a guard was restarted (``resets``), ``increase()`` is as near as one gets.
    """
    over, before = window.over(series), window.before(series)
    return "\n".join(
        (
            f"{_sum(by)} (",
            f"  (increase({over}) and resets({over}) > 0)",
            f"  or (max_over_time({over}) - (min_over_time({over}) and last_over_time({before})))",
            f"  or max_over_time({over})",
            ")",
        )
    )


def roughly_counted(series: str, window: Window, *by: str) -> str:
    """Return the same as Prometheus itself guesses it: over hours it is as good, and reads a fifth of the samples."""
    return f"{_sum(by)} (increase({window.over(series)}))"


def _sum(by: tuple[str, ...]) -> str:
    return f"sum by ({', '.join(by)})" if by else "sum"


def together(parts: Mapping[str, str], label: str = "of") -> str:
    """Return one query for several numbers; ``label`` tells which is which.

    They come from the same moment: an error that was scraped between two queries would be one of too few requests.
    """
    return "\nor\n".join(f'label_replace({query}, "{label}", {quoted(name)}, "", "")' for name, query in parts.items())
