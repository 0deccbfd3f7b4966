"""Looks at the gates: asked in the background, never in the way of a reconciliation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from inferenceversion_operator.adapters import prometheus
from inferenceversion_operator.adapters.kube.cache import Key
from inferenceversion_operator.core.gates.answers import Answer, Measured, Sample, Unanswered

log = logging.getLogger(__name__)
_AT_ONCE = 4
_NOT_CONFIGURED = Unanswered("NotConfigured", "no Prometheus is configured: set prometheus.url of the chart")

Ask = Callable[[Mapping[str, str], datetime], Awaitable[Mapping[str, prometheus.Answer]]]


@dataclass(frozen=True, slots=True)
class _Look:
    asked_for: str
    task: asyncio.Task[None]


class Measurer:
    """The last answers of each endpoint, and the looks that are under way.

    Args:
        ask: puts questions to Prometheus as of a moment and ends by itself, as ``Prometheus.ask`` does; None: there is
            none to ask.
        answered: called with the key when a look has ended, so that somebody acts on it.
        at_once: how many looks may be under way at once; the others wait their turn.
    """

    def __init__(self, ask: Ask | None, answered: Callable[[Key], None], at_once: int = _AT_ONCE) -> None:
        self._ask = ask
        self._answered = answered
        self._turn = asyncio.Semaphore(at_once)
        self._looks: dict[Key, _Look] = {}
        self._measured: dict[Key, Measured] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def wanted(self, key: Key, asked_for: str, questions: Mapping[str, str]) -> None:
        """Begin a look, unless one for the same is under way; one for something else is given up for it."""
        known = self._looks.get(key)
        if not questions or (known and known.asked_for == asked_for):
            return
        self._give_up(key)
        task = asyncio.get_running_loop().create_task(self._look(key, asked_for, dict(questions)), name=f"look {key}")
        self._looks[key] = _Look(asked_for, task)

    def latest(self, key: Key) -> Measured | None:
        """Return what the last look that ended brought."""
        return self._measured.get(key)

    def forget(self, key: Key) -> None:
        """Drop what is known of an endpoint that is gone, or that asks nothing any more."""
        self._give_up(key)
        self._measured.pop(key, None)

    async def stop(self) -> None:
        """End every look; none is begun by itself afterwards."""
        for key in list(self._looks):
            self._give_up(key)
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _give_up(self, key: Key) -> None:
        look = self._looks.pop(key, None)
        if look:
            look.task.cancel()
            self._ending.add(look.task)  # the loop itself keeps only a weak reference to a task
            look.task.add_done_callback(self._ending.discard)

    async def _look(self, key: Key, asked_for: str, questions: Mapping[str, str]) -> None:
        async with self._turn:
            at = datetime.now(UTC)
            answers = await self._answers(questions, at)
        del self._looks[key]
        self._measured[key] = Measured(asked_for, at, answers)
        self._answered(key)

    async def _answers(self, questions: Mapping[str, str], at: datetime) -> dict[str, Answer]:
        """Return an answer to every question, or why there is none."""
        if self._ask is None:
            return dict.fromkeys(questions, _NOT_CONFIGURED)
        try:
            told = await self._ask(questions, at)
            return {key: _in_terms_of_the_core(told[key]) for key in questions}
        except Exception as error:  # whoever waits for the look would wait for ever
            log.exception("a look at the gates failed")
            return dict.fromkeys(questions, Unanswered("Failed", f"asking Prometheus failed: {error!r}"))


def _in_terms_of_the_core(answer: prometheus.Answer) -> Answer:
    if isinstance(answer, prometheus.NoAnswer):
        return Unanswered(answer.reason.value, answer.message)
    return tuple(Sample(sample.value, sample.labels) for sample in answer)
