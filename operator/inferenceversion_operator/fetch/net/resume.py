"""A download that goes on where it broke. The hash is over what is passed on, so it is over the whole."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from inferenceversion_operator.fetch.errors import BrokenError, FetchError, Reason
from inferenceversion_operator.fetch.progress import Progress

# Less than this in the time without progress is none: a server that trickles holds a pod for ever.
_PROGRESS_BYTES = 64 << 10
_LONGEST_WAIT = 15.0

_T = TypeVar("_T")
OpenAt = Callable[[int], AbstractContextManager[Iterator[bytes]]]


@dataclass(frozen=True, slots=True)
class Retry:
    """How long to try: ``tries`` in a row, or ``stall_seconds``, without progress."""

    stall_seconds: float
    progress: Progress
    tries: int = 6
    first_wait: float = 0.5
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def steady(open_at: OpenAt, retry: Retry, what: str) -> Iterator[bytes]:
    """Yield the bytes that ``open_at(offset)`` yields, opening again at the offset where it raised BrokenError.

    Raises:
        FetchError: SourceUnreachable (transient), when there was no progress for too long.
    """
    offset = 0
    pace = _Pace(retry)
    while True:
        try:
            with open_at(offset) as chunks:
                for chunk in chunks:
                    offset += len(chunk)
                    pace.saw(len(chunk))
                    yield chunk
            return  # noqa: TRY300 - the loop goes on in the handler
        except BrokenError as broken:
            wait = pace.failed(broken, what, offset)
            retry.progress.say(f"{what}: {broken.why} after {offset} bytes; going on in {wait:.1f} s")
        retry.sleep(wait)


def steady_call(call: Callable[[], _T], retry: Retry, what: str) -> _T:
    """Return what ``call`` returns, calling again while it raises BrokenError."""
    pace = _Pace(retry)
    while True:
        try:
            return call()
        except BrokenError as broken:
            wait = pace.failed(broken, what, 0)
        retry.sleep(wait)


class _Pace:
    """Counts failures and time since there was progress."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._failures = 0
        self._since = retry.clock()
        self._bytes = 0

    def saw(self, count: int) -> None:
        self._bytes += count
        if self._bytes >= _PROGRESS_BYTES:
            self._bytes = self._failures = 0
            self._since = self._retry.clock()
        elif self._retry.clock() - self._since > self._retry.stall_seconds:
            raise BrokenError(f"no progress for {self._retry.stall_seconds:.0f} s")

    def failed(self, broken: BrokenError, what: str, offset: int) -> float:
        """Return how long to wait before the next try."""
        self._failures += 1
        passed = self._retry.clock() - self._since
        if self._failures >= self._retry.tries or passed >= self._retry.stall_seconds:
            raise FetchError(
                Reason.SOURCE_UNREACHABLE,
                f"{what}: {broken.why} ({self._failures} tries, {offset} bytes received)",
                transient=True,
            ) from broken
        wait = min(_LONGEST_WAIT, self._retry.first_wait * (1 << self._failures - 1)) * random.uniform(0.5, 1)
        return max(wait, min(broken.retry_after, _LONGEST_WAIT * 2))
