"""How long ago something was, as kubectl writes it."""

from datetime import datetime

from inferenceversion_operator.core.conditions import parse_timestamp

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def age(created: str | None, now: datetime) -> str:
    """Return the time since then, in its largest unit."""
    if created is None:
        return "-"
    seconds = int(seconds_since(created, now))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def seconds_since(moment: str | None, now: datetime) -> float:
    """Return how long ago a moment was, in seconds; 0 where it is none, or still to come."""
    return max(0.0, (now - parse_timestamp(moment)).total_seconds()) if moment else 0.0


def span(seconds: float) -> str:
    """Return a duration in its two largest units, such as 1h30m."""
    left, words = round(seconds), []
    for size, unit in (*_UNITS, (1, "s")):
        if left >= size:
            words.append(f"{left // size}{unit}")
            left %= size
    return "".join(words[:2]) or "0s"
