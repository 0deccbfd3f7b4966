"""Keys whose time has come, and which of them is next: a data structure without a clock."""

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Sequence[str])
# Of so many turns at least one goes to what nobody asked for, however much is asked.
_SHARE = 4


class _Lane(Generic[K]):
    """First come, first served within a flow; the flows take turns."""

    def __init__(self) -> None:
        self._flows: dict[str, deque[K]] = {}

    def __bool__(self) -> bool:
        return bool(self._flows)

    def push(self, key: K) -> None:
        self._flows.setdefault(key[0], deque()).append(key)

    def pop(self) -> K:
        flow = next(iter(self._flows))
        waiting = self._flows.pop(flow)
        key = waiting.popleft()
        if waiting:  # at the end of the line
            self._flows[flow] = waiting
        return key


class Lanes(Generic[K]):
    """A fast lane for what a person asked for and a slow one for the rest, such as pods that start.

    The flow of a key is its first item, the namespace: who applies a thousand versions does not hold up who applies one
    next door. The slow lane keeps a share, so that nothing waits for ever.
    """

    def __init__(self) -> None:
        self._fast: _Lane[K] = _Lane()
        self._slow: _Lane[K] = _Lane()
        self._waiting: dict[K, bool] = {}  # and whether in the fast lane
        self._fast_in_a_row = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: K) -> bool:
        return key in self._waiting

    def push(self, key: K, *, fast: bool) -> None:
        """Put a key in line; one that waits already at most changes to the fast lane."""
        known = self._waiting.get(key)
        if known is None or (fast and not known):
            self._waiting[key] = fast
            (self._fast if fast else self._slow).push(key)

    def pop(self) -> K | None:
        """Return the key whose turn it is, or None where none waits."""
        while self._fast or self._slow:
            fast = bool(self._fast) and not (self._slow and self._fast_in_a_row >= _SHARE - 1)
            key = (self._fast if fast else self._slow).pop()
            if self._waiting.get(key) is fast:  # else it changed lanes, and this is the place it left
                self._fast_in_a_row = self._fast_in_a_row + 1 if fast else 0
                del self._waiting[key]
                return key
        return None
