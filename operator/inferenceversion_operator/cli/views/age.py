"""How long ago something was, as kubectl writes it."""

from datetime import datetime

from inferenceversion_operator.core.conditions import parse_timestamp

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def age(created: str | None, now: datetime) -> str:
    """Return the time since then, in its largest unit."""
    if created is None:
        return "-"
    seconds = max(0, int((now - parse_timestamp(created)).total_seconds()))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
