"""Clients that are made anew after a while.

A Service of Kubernetes balances connections, not requests: whoever keeps one for ever asks the same pod for ever, and
never hears of a new one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_AGE_S = 10.0


@dataclass(slots=True)
class _Entry(Generic[T]):
    client: T
    born: float
    users: int = 0
    retired: bool = False


class Rotating(Generic[T]):
    """A client in each of a few places, taken in turn; one that is too old is closed when its last user is done.

    Args:
        make: makes a client; it is called in the event loop.
        close: closes one.
        places: how many there are side by side.
        max_age: seconds.
    """

    def __init__(
        self,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]],
        *,
        places: int = 1,
        max_age: float = MAX_AGE_S,
    ) -> None:
        self._make = make
        self._close = close
        self._max_age = max_age
        self._entries: list[_Entry[T] | None] = [None] * places
        self._next = 0
        self._closing: set[asyncio.Task[None]] = set()

    @contextmanager
    def client(self) -> Iterator[T]:
        """Lend a client."""
        entry = self._take()
        entry.users += 1
        try:
            yield entry.client
        finally:
            entry.users -= 1
            self._bury(entry)

    async def close(self) -> None:
        """Close all clients; those in use are not waited for."""
        for entry in self._entries:
            if entry:
                await self._close(entry.client)
        await asyncio.gather(*self._closing)

    def _take(self) -> _Entry[T]:
        place = self._next
        self._next = (place + 1) % len(self._entries)
        now = asyncio.get_running_loop().time()
        entry = self._entries[place]
        if entry and now - entry.born <= self._max_age:
            return entry
        if entry:
            entry.retired = True
            self._bury(entry)
        # The first ones are born at different times, so that they do not all end at once.
        born = now if entry else now - self._max_age * place / len(self._entries)
        fresh = self._entries[place] = _Entry(self._make(), born)
        return fresh

    def _bury(self, entry: _Entry[T]) -> None:
        if entry.retired and not entry.users:
            task = asyncio.ensure_future(self._close(entry.client))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
