"""What may be stored of what others say."""

from datetime import UTC, datetime

import pytest

from inferenceversion_operator.core.conditions import Condition, merge, parse_timestamp

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_a_reason_of_others_is_cut_to_what_the_crd_takes():
    (stored,) = merge((), [Condition("Routed", "False", "R" * 1024, "m" * 32_768)], 1, NOW)
    assert len(stored["reason"]) == 128
    assert len(stored["message"]) == 2048


def test_half_a_surrogate_pair_is_not_told_since_no_server_would_keep_it():
    (stored,) = merge((), [Condition("Loaded", "False", "LoadFailed", "a\ud83d")], 1, NOW)
    assert stored["message"] == "a?"


def test_a_time_without_a_zone_is_utc():
    assert parse_timestamp("2026-11-30T12:00:00") == NOW


@pytest.mark.parametrize("text", ["2026-11-30T12:00:60Z", "", "yesterday"])
def test_what_is_no_time_is_said(text):
    with pytest.raises(ValueError, match=r"."):
        parse_timestamp(text)
