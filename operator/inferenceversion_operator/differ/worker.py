"""Takes copies from the queue, one after the other, and sees each through."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from inferenceversion_operator.differ.intake import Intake
from inferenceversion_operator.differ.judge import Answer, Judgement, Mirrored, Protocol, input_bytes, judge
from inferenceversion_operator.differ.memory import Lease, MemoryFullError
from inferenceversion_operator.differ.plan import Plan
from inferenceversion_operator.differ.replay import Replayer
from inferenceversion_operator.differ.sample import Sample
from inferenceversion_operator.differ.tally import Drop, Tally

log = logging.getLogger(__name__)
T = TypeVar("T")
_GOLDEN = 2_654_435_769  # 2**32 by the golden ratio: its multiples fall evenly over what 32 bits can be
_INLINE = 64 << 10  # bytes of bodies beyond which they are looked at in another thread, so that copies are still taken


@dataclass(frozen=True, slots=True)
class Pair:
    """The two versions, over one protocol."""

    stable: Replayer
    candidate: Replayer


class Worker:
    """Replays and compares; ``concurrency`` tasks run the same ``run``."""

    def __init__(
        self,
        plan: Plan,
        intake: Intake,
        pairs: Mapping[Protocol, Pair],
        tally: Tally,
        sample: Sample,
        executor: Executor,
    ) -> None:
        self._plan = plan
        self._intake = intake
        self._pairs = pairs
        self._tally = tally
        self._sample = sample
        self._executor = executor
        self._number = 0

    async def run(self) -> None:
        """Work until cancelled; whatever goes wrong with one copy is that copy's end alone."""
        while True:
            copy = await self._intake.get()
            try:
                with Lease(self._intake.memory) as lease:
                    await self._see_through(copy, lease)
            except* MemoryFullError:
                self._tally.drop(Drop.MEMORY)
            except* Exception as errors:  # noqa: BLE001 - one copy must not end the others
                self._tally.drop(Drop.ERROR)
                self._complain(errors)
            finally:
                self._intake.done(copy)

    async def _see_through(self, copy: Mirrored, lease: Lease) -> None:
        pair = self._pairs[copy.protocol]
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(pair.candidate.ask(copy, lease))
            stable = await pair.stable.ask(copy, lease)
        candidate = asked.result()
        length, judgement = await self._aside(
            lambda: (input_bytes(copy), judge(self._plan, copy.protocol, stable, candidate)), copy, stable, candidate
        )
        self._tally.replay_seconds["stable"].add(stable.seconds)
        self._tally.replay_seconds["candidate"].add(candidate.seconds)
        self._tally.input_length.add(length)
        self._tally.judged(judgement)
        self._keep(copy, judgement, stable, candidate, noise=False)
        if not stable.problem and self._asks_again(copy):
            await self._ask_again(copy, stable, lease)

    async def _ask_again(self, copy: Mirrored, stable: Answer, lease: Lease) -> None:
        """Compare stable with itself. It is asked later, so that the two answers do not share a batch."""
        try:
            again = await self._pairs[copy.protocol].stable.ask(copy, lease)
        except MemoryFullError:
            return  # the comparison that counts is done
        judgement = await self._aside(lambda: judge(self._plan, copy.protocol, stable, again), copy, stable, again)
        self._tally.judged_noise(judgement)
        if judgement.compared and not judgement.failed:
            self._keep(copy, judgement, stable, again, noise=True)

    def _asks_again(self, copy: Mirrored) -> bool:
        """Choose by the request's hash and a running number: clients may send a few requests over and over."""
        self._number = (self._number + 1) % 2**32
        place = (int(copy.digest[:8], 16) + self._number * _GOLDEN) % 2**32
        return place < self._plan.self_share * 2**32

    async def _aside(self, judging: Callable[[], T], copy: Mirrored, one: Answer, other: Answer) -> T:
        if len(copy.body) + len(one.body) + len(other.body) <= _INLINE:
            return judging()
        return await asyncio.get_running_loop().run_in_executor(self._executor, judging)

    def _keep(self, copy: Mirrored, judgement: Judgement, one: Answer, other: Answer, *, noise: bool) -> None:
        if judgement.mismatched:
            answers = {"stable": one, "stableAgain" if noise else "candidate": other}
            self._sample.keep(datetime.now(UTC), copy, judgement, answers, noise=noise)

    def _complain(self, errors: BaseException) -> None:
        """Log what went wrong; of many errors fewer and fewer."""
        count = self._tally.dropped[Drop.ERROR]
        if count.bit_count() == 1:
            log.error("a comparison failed (%d so far)", count, exc_info=errors)
