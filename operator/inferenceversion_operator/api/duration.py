"""Durations as Gateway API writes them (GEP-2257): whole numbers with h, m, s or ms, such as ``1m30s``."""

import re

_WHOLE = re.compile(r"([0-9]{1,5}(h|m|s|ms)){1,4}")
_PART = re.compile(r"([0-9]{1,5})(ms|h|m|s)")
_UNIT_MS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


def to_ms(text: str) -> int:
    """Return the duration in milliseconds.

    >>> to_ms("1m30s")
    90000

    Raises:
        ValueError: it is not such a duration.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"not a duration: {text!r}: write whole numbers with h, m, s or ms, such as 10ms, 5s or 1m30s")
    return sum(int(number) * _UNIT_MS[unit] for number, unit in _PART.findall(text))
