"""How many bytes of bodies there may be at once, over all requests and answers."""

from types import TracebackType
from typing import Self


class MemoryFullError(Exception):
    """There is no room for more; what needed it is given up, and nobody is blamed."""


class Memory:
    """A budget of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.used = 0

    def take(self, count: int) -> bool:
        """Take room for so many bytes; False if there is not as much."""
        if self.used + count > self._limit:
            return False
        self.used += count
        return True

    def give(self, count: int) -> None:
        self.used -= count


class Lease:
    """What one comparison took; all of it is given back at the end of the ``with``."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._taken = 0

    def take(self, count: int) -> None:
        """Take room for so many bytes more.

        Raises:
            MemoryFullError: there is none.
        """
        if not self._memory.take(count):
            raise MemoryFullError
        self._taken += count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._memory.give(self._taken)
        self._taken = 0
