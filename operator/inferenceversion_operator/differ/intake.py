"""Where copies wait for their turn: bounded in number and in bytes; what does not fit is dropped at once."""

import asyncio

from inferenceversion_operator.differ.judge import Mirrored
from inferenceversion_operator.differ.memory import Memory
from inferenceversion_operator.differ.plan import Limits
from inferenceversion_operator.differ.tally import Drop, Tally


class Intake:
    """The queue between listeners and workers.

    A listener takes the bytes of a body from ``memory`` and hands them over with the copy; the worker gives them
    back.
    """

    def __init__(self, limits: Limits, tally: Tally) -> None:
        self.limits = limits
        self.memory = Memory(limits.memory_bytes)
        self.tally = tally
        self._queue: asyncio.Queue[Mirrored] = asyncio.Queue(limits.queue)
        self._stopping = False

    def refusal(self) -> Drop | None:
        """Say why a copy that begins to arrive will be dropped, so that its body need not be read."""
        if self._stopping:
            return Drop.STOPPING
        return Drop.QUEUE_FULL if self._queue.full() else None

    def put(self, copy: Mirrored) -> None:
        """Queue a copy whose bytes were taken from the memory, or drop it and give them back."""
        refused = self.refusal()
        if refused:
            self.memory.give(len(copy.body))
            self.tally.drop(refused)
            return
        self._queue.put_nowait(copy)

    async def get(self) -> Mirrored:
        return await self._queue.get()

    def done(self, copy: Mirrored) -> None:
        """Say that a copy was dealt with."""
        self.memory.give(len(copy.body))
        self._queue.task_done()

    async def drain(self) -> None:
        """Take no more copies, and return once those that wait were dealt with."""
        self._stopping = True
        await self._queue.join()
