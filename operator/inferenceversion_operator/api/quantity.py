"""Quantities of Kubernetes: read to exact numbers, written as the API server writes them."""

import re
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

_QUANTITY = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIXES = ("", *_BINARY)
_BINARY_MAX = Decimal(2**63 - 1)  # Kubernetes caps binary quantities, and these alone
_NANO = Decimal("1e-9")  # the finest step; Kubernetes rounds away from zero
_EXACT = Context(prec=200)
_EXPONENT_MAX = 60  # far beyond what Kubernetes keeps; a bound on the work


class _Parts(NamedTuple):
    value: Decimal
    style: str  # "decimal", "binary" or "exponent": the style a quantity was written in is kept


def parse(text: str | int) -> Decimal:
    """Return the exact value of a quantity, in its base unit (cores, bytes, pieces).

    >>> parse("2Mi")
    Decimal('2097152.000000000')

    Raises:
        ValueError: it is not a quantity.
    """
    return _parts(text).value


def canonical(text: str | int) -> str:
    """Return the quantity as the API server stores it in a Pod: the largest suffix without a fraction.

    >>> [canonical(q) for q in ("1000m", "1024Mi", "0.5", "1.5Gi")]
    ['1', '1Gi', '500m', '1536Mi']

    Raises:
        ValueError: it is not a quantity.
    """
    value, style = _parts(text)
    if value == 0:
        return "0"
    if style == "binary" and abs(value) >= 1024 and value == value.to_integral_value():
        return _binary(int(value))
    mantissa, exponent = _by_thousands(value, highest=_EXPONENT_MAX if style == "exponent" else 18)
    if style == "exponent":
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_SUFFIX_OF[exponent]}"


def plain(text: str | int) -> str:
    """Return the value alone, whatever it was written as: ``2Mi`` and ``2097152`` are the same text.

    Raises:
        ValueError: it is not a quantity.
    """
    written = f"{abs(parse(text)):f}" if parse(text) == 0 else f"{parse(text):f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


@lru_cache(maxsize=256)  # the same few sizes are everywhere
def _parts(text: str | int) -> _Parts:
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise ValueError(f"not a quantity: {text!r}: write a number with m, k, M, G, T or Ki, Mi, Gi, Ti")
    sign, number, suffix = match.group(1), Decimal(match.group(2)), match.group(3) or ""
    if suffix in _BINARY:
        value, style = min(_EXACT.multiply(number, Decimal(2 ** _BINARY[suffix])), _BINARY_MAX), "binary"
    elif suffix in _DECIMAL:
        value, style = number.scaleb(_DECIMAL[suffix], _EXACT), "decimal"
    else:
        exponent = max(-_EXPONENT_MAX, min(int(suffix[1:]), _EXPONENT_MAX))
        value, style = number.scaleb(exponent, _EXACT), "exponent"
    rounded = value.quantize(_NANO, ROUND_UP, _EXACT)
    return _Parts(rounded.copy_negate() if sign == "-" else rounded, style)


def _binary(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIXES[power]}"


def _by_thousands(value: Decimal, highest: int) -> tuple[int, int]:
    """Return mantissa and exponent, a multiple of three as high as leaves the mantissa whole."""
    exponent = -9
    mantissa = int(value.scaleb(9, _EXACT))
    while mantissa % 1000 == 0 and exponent < highest:
        mantissa //= 1000
        exponent += 3
    return mantissa, exponent
