"""Keys to work on: each at most once at a time, coalesced, paced, with backoff and "again at T"."""

import asyncio
import heapq
import itertools
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from typing import Generic, TypeVar

from inferenceversion_operator.reconcile.lanes import Lanes

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Sequence[str])
_BACKOFF_S = (0.2, 60.0)
# Pods that start tell a dozen things in a second, and each of our own writes comes back as news. The first hint after
# a rest waits for those that come with it; further turns that nobody asked for are a second apart.
_SETTLE_S = 0.2
_PACE_S = 1.0


class _Again(IntEnum):
    """Why a key is to have one more turn after the one that it has; the highest counts."""

    HINTED = 1
    ADDED = 2
    ASKED = 3


class Queue(Generic[K]):
    """A keyed work queue in the manner of client-go's rate-limited one.

    A key that is added while it is being worked on is worked on once more afterwards. ``Lanes`` says which of the keys
    that are due is next.

    Args:
        work: called with one key; how it ends is its own business, ``add`` and ``retry`` are how it asks for more.
        workers: how many keys are worked on at once.
    """

    def __init__(self, work: Callable[[K], Awaitable[None]], workers: int) -> None:
        self._work = work
        self._workers = workers
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._lanes: Lanes[K] = Lanes()
        self._busy: set[K] = set()
        self._again: dict[K, _Again] = {}  # what came for a key during its turn
        self._rests_until: dict[K, float] = {}  # in the order of time
        self._failures: dict[K, int] = {}
        self._order = itertools.count()
        self._wake = asyncio.Event()

    def ask(self, key: K) -> None:
        """Ask for a turn now, before those that nobody asked for: a person waits for it."""
        self._now(key, _Again.ASKED)

    def add(self, key: K, delay: float = 0.0) -> None:
        """Ask for a key to be worked on in ``delay`` seconds, or earlier if it was asked for already."""
        if delay <= 0.0:
            self._now(key, _Again.ADDED)
            return
        due = asyncio.get_running_loop().time() + delay
        if key in self._lanes or self._due.get(key, due + 1.0) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        self._wake.set()

    def hint(self, key: K) -> None:
        """Ask for a look at a key of which something changed; what else changes meanwhile is seen by the same look."""
        if key in self._busy:
            self._again.setdefault(key, _Again.HINTED)
        else:
            now = asyncio.get_running_loop().time()
            self.add(key, max(_SETTLE_S, self._rests_until.get(key, now) - now))

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
        return len(self._due) + len(self._lanes) + len(self._busy)

    async def run(self) -> None:
        """Serve the queue until cancelled."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                self._collect(loop.time())
                while len(self._busy) < self._workers and (key := self._lanes.pop()) is not None:
                    self._busy.add(key)
                    group.create_task(self._turn(key))
                alarm = loop.call_at(self._heap[0][0], self._wake.set) if self._heap else None
                await self._wake.wait()
                if alarm:
                    alarm.cancel()

    def _now(self, key: K, why: _Again) -> None:
        self._due.pop(key, None)  # its place in the heap is passed over
        if key in self._busy:
            self._again[key] = max(why, self._again.get(key, why))
        else:
            self._lanes.push(key, fast=why is _Again.ASKED)
            self._wake.set()

    def _collect(self, now: float) -> None:
        """Put in line what has become due."""
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) == due:
                if due > now:
                    return
                self._now(key, _Again.ADDED)
            heapq.heappop(self._heap)

    async def _turn(self, key: K) -> None:
        try:
            await self._work(key)
        except Exception:  # one key must not end the work on all others
            log.exception("%s", key)
            self.retry(key)
        finally:
            self._busy.discard(key)
            self._rest(key)
            self._wake.set()

    def _rest(self, key: K) -> None:
        now = asyncio.get_running_loop().time()
        self._rests_until.pop(key, None)
        self._rests_until[key] = now + _PACE_S
        while (oldest := next(iter(self._rests_until))) and self._rests_until[oldest] <= now:
            del self._rests_until[oldest]
        why = self._again.pop(key, None)
        if why is _Again.HINTED:
            self.hint(key)
        elif why is not None:
            self._now(key, why)
