"""When each request is due, and which headline it carries; pure."""

from collections.abc import Sequence


def due(began: float, number: int, rate: float) -> float:
    """Return the moment of a request: so many a second since ``began``, however late the one before was.

    >>> due(100.0, 0, 20), due(100.0, 30, 20)
    (100.0, 101.5)
    """
    return began + number / rate


def text_of(number: int, headlines: Sequence[str]) -> str:
    """Return the headline of a request: all of them in turn.

    >>> [text_of(number, ("a", "b")) for number in range(3)]
    ['a', 'b', 'a']
    """
    return headlines[number % len(headlines)]
