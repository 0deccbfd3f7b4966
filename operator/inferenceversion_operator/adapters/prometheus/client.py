"""The questions of one look, asked side by side in threads: the library under it blocks."""

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from inferenceversion_operator.adapters.prometheus.answers import Answer, NoAnswer, Reason
from inferenceversion_operator.adapters.prometheus.settings import PrometheusConfig

log = logging.getLogger(__name__)
_AT_ONCE = 8
_WARNINGS_KEPT = 256
_Reply = tuple[Answer, tuple[str, ...]]


class Prometheus:
    """Asks; holds nothing open between two looks."""

    def __init__(self, config: PrometheusConfig) -> None:
        self._config = config
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="prometheus")
        self._warned: set[str] = set()

    async def ask(self, questions: Mapping[str, str], at: datetime) -> dict[str, Answer]:
        """Ask every question as of the same moment; each has an answer after twice the timeout at the latest.

        Args:
            questions: PromQL by key.
            at: when the queries are evaluated.
        """
        loop = asyncio.get_running_loop()
        turns = {
            key: loop.run_in_executor(self._threads, _ask, self._config, query, at) for key, query in questions.items()
        }
        try:
            if turns:
                await asyncio.wait(turns.values(), timeout=2 * self._config.timeout_s)
            return {key: self._answer(turn) for key, turn in turns.items()}
        finally:
            for turn in turns.values():
                turn.cancel()  # those that never had their turn; what waits for the network ends by its own timeout

    def close(self) -> None:
        """Ask nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _answer(self, turn: asyncio.Future[_Reply]) -> Answer:
        if not turn.done():
            message = f"no answer from {self._config.url} within {2 * self._config.timeout_s:g} s"
            return NoAnswer(Reason.TIMEOUT, message)
        answer, warnings = turn.result()
        for warning in warnings:
            self._tell(warning)
        return answer

    def _tell(self, warning: str) -> None:
        """Log a warning of Prometheus, once."""
        if warning not in self._warned:
            if len(self._warned) >= _WARNINGS_KEPT:
                self._warned.clear()
            self._warned.add(warning)
            log.warning("Prometheus warns: %s", warning)


def _ask(config: PrometheusConfig, query: str, at: datetime) -> _Reply:
    """Ask in a thread; whatever goes wrong is an answer."""
    try:
        # Here, so that an operator without Prometheus doesn't pay for it (6 MiB), and nobody waits for the import.
        from inferenceversion_operator.adapters.prometheus.question import ask  # noqa: PLC0415

        return ask(config, query, at)
    except Exception as error:
        log.exception("asking %s failed", config.url)
        return NoAnswer(Reason.UNREACHABLE, f"asking {config.url} failed: {error!r}"), ()
