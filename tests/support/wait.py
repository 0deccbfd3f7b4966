"""Wait for a state instead of sleeping; a timeout says what was seen last."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NotYet(Exception):
    """A probe's way to say what it sees instead of what is waited for."""


class TooLate(AssertionError):
    """What was waited for did not happen in time; the message holds the last state seen."""


def wait_until(what: str, probe: Callable[[], T], *, within: float, every: float = 0.2) -> T:
    """Call ``probe`` until it returns something true, and return that.

    Args:
        what: what is waited for, as a sentence that begins with "waiting until ...".
        probe: returns the state; a false one, or one raised as ``NotYet``, is the last state seen.
        within: seconds until it is too late.
        every: seconds between two looks.

    Raises:
        TooLate: it did not happen; names the last state seen and how often was looked.
    """
    began = time.monotonic()
    looks = 0
    while True:
        looks += 1
        try:
            state = probe()
        except NotYet as seen:
            last: object = seen
        else:
            if state:
                return state
            last = state
        if time.monotonic() - began > within:
            raise TooLate(f"{what}: not within {within:g} s ({looks} looks); last seen: {last}")
        time.sleep(every)


def holds_for(what: str, probe: Callable[[], object], *, seconds: float, every: float = 0.5) -> None:
    """Call ``probe`` for a while: what it returns has to be true each time.

    Raises:
        AssertionError: it was false once, or raised ``NotYet``; the message holds that state.
    """
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            state = probe()
        except NotYet as seen:
            raise AssertionError(f"{what}: after {time.monotonic() - began:.1f} s: {seen}") from seen
        assert state, f"{what}: after {time.monotonic() - began:.1f} s: {state}"
        time.sleep(every)
