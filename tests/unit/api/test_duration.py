"""Durations as Gateway API writes them."""

import pytest

from inferenceversion_operator.api.duration import to_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0), ("1ms", 1), ("10ms", 10), ("5s", 5000), ("5000ms", 5000), ("1m", 60000), ("1m30s", 90000), ("1h", 3600000),
        ("1h1m1s1ms", 3661001), ("99999h", 359996400000), ("30s1m", 90000), ("1m1ms", 60001), ("007s", 7000),
    ],
)  # fmt: skip
def test_to_ms(text, ms):
    assert to_ms(text) == ms


@pytest.mark.parametrize(
    "text",
    ["", "5", "s", "1.5s", "-5s", "5 s", "5S", "5sec", "1d", "100000s", "1s1s1s1s1s", "5s\n", "٥s", "5µs"],  # noqa: RUF001
    ids=repr,
)
def test_invalid(text):
    with pytest.raises(ValueError, match="not a duration"):
        to_ms(text)
