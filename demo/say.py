"""What the demo prints: headings, and lines below them."""

import time
from collections.abc import Callable
from textwrap import wrap

WIDTH = 120


def heading(text: str) -> None:
    print(f"\n[{text}]", flush=True)


def say(text: str) -> None:
    print("\n".join(f"  {line}".rstrip() for line in text.splitlines()), flush=True)


def clock() -> Callable[[str], None]:
    """Return a ``say`` that puts the seconds since now before each line, and breaks long ones."""
    began = time.monotonic()

    def say_when(text: str) -> None:
        say("\n".join(dated(time.monotonic() - began, text)))

    return say_when


def dated(seconds: float, text: str) -> list[str]:
    """Return the lines of a text after a number of seconds.

    >>> dated(1.26, "Ready")
    ['   1.3 s  Ready']
    """
    indent = " " * (12 + len(text) - len(text.lstrip()))
    return wrap(f"{seconds:6.1f} s  {text}", WIDTH - 2, subsequent_indent=indent, break_on_hyphens=False)
