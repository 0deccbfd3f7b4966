"""Keys to work on: each at most once at a time, coalesced, with backoff and "again at T"."""

import asyncio
import heapq
import itertools
import logging
import random
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)
_BACKOFF_S = (0.2, 60.0)


class Queue(Generic[K]):
    """A keyed work queue in the manner of client-go's rate-limited one.

    A key that is added while it is being worked on is worked on once more afterwards. Keys that are due are served
    in the order in which they became due, so a burst of others delays a key by its place in the line and no more.

    Args:
        work: called with one key; how it ends is its own business, ``again`` and ``retry`` are how it asks for more.
        workers: how many keys are worked on at once.
    """

    def __init__(self, work: Callable[[K], Awaitable[None]], workers: int) -> None:
        self._work = work
        self._workers = workers
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._busy: set[K] = set()
        self._dirty: set[K] = set()
        self._failures: dict[K, int] = {}
        self._order = itertools.count()
        self._wake = asyncio.Event()

    def add(self, key: K, delay: float = 0.0) -> None:
        """Ask for a key to be worked on in ``delay`` seconds, or earlier if it was asked for already."""
        if key in self._busy and delay == 0.0:
            self._dirty.add(key)
            return
        due = asyncio.get_running_loop().time() + delay
        if key in self._due and self._due[key] <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        self._wake.set()

    def retry(self, key: K, at_least: float = 0.0) -> float:
        """Ask for a key again after its backoff (doubling, with jitter); return the delay in seconds."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        first, most = _BACKOFF_S
        delay = max(at_least, random.uniform(0.5, 1.0) * min(most, first * 2.0 ** min(failures - 1, 30)))
        self.add(key, delay)
        return delay

    def failures(self, key: K) -> int:
        """How often in a row a key was retried."""
        return self._failures.get(key, 0)

    def succeeded(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    @property
    def depth(self) -> int:
        """How many keys wait or are being worked on."""
        return len(self._due) + len(self._busy)

    async def run(self) -> None:
        """Serve the queue until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            key = await self._next()
            self._busy.add(key)
            try:
                await self._work(key)
            except Exception:  # one key must not end the work on all others
                log.exception("%s", key)
                self.retry(key)
            finally:
                self._busy.discard(key)
                if key in self._dirty:
                    self._dirty.discard(key)
                    self.add(key)

    async def _next(self) -> K:
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            now = loop.time()
            while self._heap:
                due, _, key = self._heap[0]
                if self._due.get(key) != due:  # superseded by an earlier request
                    heapq.heappop(self._heap)
                    continue
                if key in self._busy:
                    heapq.heappop(self._heap)
                    self._due.pop(key)
                    self._dirty.add(key)
                    continue
                if due > now:
                    break
                heapq.heappop(self._heap)
                self._due.pop(key)
                return key
            wait = self._heap[0][0] - now if self._heap else None
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue
