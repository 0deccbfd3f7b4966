"""Numbers as people read them, and as ``value`` and ``bound`` of a finding hold them."""

import math
from decimal import Decimal

_VALUE_LIMIT = 32  # of the CRD


def decimal(number: float) -> str:
    """Return a decimal number, with nine digits and without an exponent where that is not long.

    >>> decimal(0.1 + 0.2), decimal(131.0), decimal(1234567.5), decimal(0.00001)
    ('0.3', '131', '1234567.5', '0.00001')
    """
    if not math.isfinite(number):
        return str(number)
    digits = f"{number:.9g}"
    plain = format(Decimal(digits), "f")
    return plain if len(plain) <= _VALUE_LIMIT else digits


def short(number: float) -> str:
    """Return the number with three digits.

    >>> short(130.72), short(7.5), short(0.04567), short(10250.0)
    ('131', '7.5', '0.0457', '10,250')
    """
    if not math.isfinite(number):
        return str(number)
    if 1000 <= abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def percent(share: float) -> str:
    """Return a share as percent.

    >>> percent(0.001), percent(0.38), percent(0.99953)
    ('0.1 %', '38 %', '99.95 %')
    """
    hundredths = share * 100
    digits = f"{hundredths:.3g}" if hundredths < 99 else f"{hundredths:.2f}".rstrip("0").rstrip(".")
    return f"{digits} %"


def requests(count: int) -> str:
    """Return a number of requests.

    >>> requests(1), requests(4120)
    ('1 request', '4,120 requests')
    """
    return f"{count:,} request" + ("" if count == 1 else "s")


def ms(number: float) -> str:
    return f"{short(number)} ms"
