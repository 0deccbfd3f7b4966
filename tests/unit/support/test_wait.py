import pytest

from tests.support.wait import NotYet, TooLate, holds_for, wait_until


def test_what_the_probe_returns_is_returned():
    states = iter(["", "", "done"])
    assert wait_until("waiting until it is done", lambda: next(states), within=5, every=0) == "done"


def test_too_late_names_what_was_waited_for_and_the_last_state():
    states = iter(range(1, 1_000_000))

    def probe() -> bool:
        raise NotYet(f"state {next(states)}")

    with pytest.raises(TooLate, match=r"waiting until it is done: not within 0.05 s .*; last seen: state \d+"):
        wait_until("waiting until it is done", probe, within=0.05, every=0.01)


def test_an_error_of_the_probe_itself_is_not_waited_out():
    def probe() -> bool:
        raise KeyError("status")

    with pytest.raises(KeyError):
        wait_until("waiting until it is done", probe, within=5, every=0)


def test_what_holds_for_a_while_may_not_fail_once():
    states = iter([True, True, False, True])
    with pytest.raises(AssertionError, match="stays as it is"):
        holds_for("stays as it is", lambda: next(states), seconds=5, every=0)
