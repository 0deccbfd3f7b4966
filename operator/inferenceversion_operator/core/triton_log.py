"""Finds the cause in the tail of a log that a container left as its termination message."""

import re

_LIMIT = 700
# glog prefix of tritonserver: "E1130 10:30:00.123456 1 model_lifecycle.cc:641] "
_PREFIX = re.compile(r'^[EWIF]\d{4} [\d:.]+ \d+ [\w.]+:\d+\]\s*"?')
_CAUSE = re.compile(r"failed to load|UNAVAILABLE|Internal:|Invalid argument|error:|Exception|critical", re.IGNORECASE)


def load_error(tail: str) -> str:
    """Return the lines of the tail that name a cause, at most 700 characters; the last line where none does."""
    lines = [_PREFIX.sub("", line.strip()) for line in tail.splitlines() if line.strip()]
    causes = [line for line in lines if _CAUSE.search(line)]
    unique = list(dict.fromkeys(causes)) or lines[-1:]
    return " / ".join(unique)[:_LIMIT]
