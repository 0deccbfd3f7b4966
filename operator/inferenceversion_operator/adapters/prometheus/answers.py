"""What may come of a question."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Why there is no answer."""

    UNREACHABLE = "Unreachable"  # no connection: name, address, port, certificate
    TIMEOUT = "Timeout"  # nothing came in time, or Prometheus itself gave up in time
    UNAUTHORIZED = "Unauthorized"  # 401 or 403, or no token to show
    BAD_QUERY = "BadQuery"  # Prometheus can't parse or execute it
    HTTP_ERROR = "HttpError"  # any other status, or what answered isn't Prometheus
    NOT_A_VECTOR = "NotAVector"  # a matrix, a string, native histograms
    TOO_MUCH = "TooMuch"  # more series or bytes than a decision needs


@dataclass(frozen=True, slots=True)
class Sample:
    """One element of an instant vector; ``value`` may be NaN or infinite."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why a question has no answer.

    Attributes:
        message: for people; names the address and what to look at.
        status: of HTTP, where there was one.
    """

    reason: Reason
    message: str
    status: int | None = None


Answer = tuple[Sample, ...] | NoAnswer
