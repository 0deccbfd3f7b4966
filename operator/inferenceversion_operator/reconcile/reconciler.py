"""One reconciliation: observe, decide, apply; and what happens when it fails."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from inferenceversion_operator.adapters.kube.cache import Cache, Key
from inferenceversion_operator.adapters.kube.client import ApiError, is_transport_error
from inferenceversion_operator.adapters.kube.writer import Writer
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.core.plan import Plan
from inferenceversion_operator.core.snapshot import Failure, Settings
from inferenceversion_operator.reconcile.apply import apply
from inferenceversion_operator.reconcile.measure import Ask, Measurer
from inferenceversion_operator.reconcile.observe import Reader, observe
from inferenceversion_operator.reconcile.queue import Queue

log = logging.getLogger(__name__)
_WORKERS = 16
# What needs a person is looked at again rarely: an event of the repaired object comes first as a rule.
_REFUSED_RETRY_S = 15.0
# What passes by itself is told when it has not passed so many times: one full queue of the API server is no news.
_TOLD_AFTER = 3


class Reconciler:
    """Owns the queue of endpoints and what their last failed writes were.

    Args:
        settings: called for each reconciliation, since what the cluster serves may change.
        prometheus: answers the questions of the gates; None: there is none to ask.
    """

    def __init__(
        self, cache: Cache, writer: Writer, settings: Callable[[], Settings], prometheus: Ask | None = None
    ) -> None:
        self._cache = cache
        self._writer = writer
        self._settings = settings
        self._failures: dict[Key, Failure] = {}
        self._told_at: dict[Key, float] = {}
        self.queue: Queue[Key] = Queue(self.reconcile, _WORKERS)
        self._reader = Reader()
        self._measurer = Measurer(prometheus, self.queue.ask)

    async def reconcile(self, key: Key) -> None:
        """Bring one endpoint nearer to what is wanted; ask the queue for another turn where that is needed."""
        started = time.monotonic()
        try:
            seen = observe(self._cache, key, self._settings(), self._failures.get(key), self._reader)
            seen = replace(seen, measured=self._measurer.latest(key))
            plan = decide(seen, datetime.now(UTC))
            failure = await apply(plan, self._writer)
        except ApiError as error:
            delay = self.queue.retry(key, error.retry_after or 0.0)
            log.warning("endpoint %s/%s: %s; again in %.1f s", *key, error, delay)
            return
        except Exception as error:
            delay = self.queue.retry(key)
            trace = not is_transport_error(error)
            log.warning("endpoint %s/%s: %r; again in %.1f s", *key, error, delay, exc_info=trace)
            return
        self._remember(key, failure, time.monotonic())
        self._ask(key, plan)
        if plan.recheck_at:
            self.queue.add(key, max(0.05, (plan.recheck_at - datetime.now(UTC)).total_seconds()))
        log.debug("endpoint %s/%s: reconciled in %.0f ms", *key, (time.monotonic() - started) * 1000)

    async def stop(self) -> None:
        """End what goes on in the background."""
        await self._measurer.stop()

    def _ask(self, key: Key, plan: Plan) -> None:
        """Let the gates' questions be asked; their answers bring the key back."""
        if plan.questions:
            self._measurer.wanted(key, plan.asked_for, plan.questions)
        elif plan.endpoint_status is None or "candidate" not in plan.endpoint_status.status:
            self._measurer.forget(key)

    def _remember(self, key: Key, failure: Failure | None, now: float) -> None:
        """Keep what was refused for the status to tell.

        A status that is written brings the object back here at once, and a server may tell the same refusal in other
        words each time (the order of a list of errors is random). So what is told changes now and then at most.
        """
        known = self._failures.get(key)
        if failure is None:
            self.queue.succeeded(key)
            if known is not None:
                del self._failures[key]
                del self._told_at[key]
                self.queue.add(key)
            return
        if not failure.needs_a_person and self.queue.failures(key) + 1 < _TOLD_AFTER:
            delay = self.queue.retry(key, failure.retry_after or 0.0)
            log.warning("endpoint %s/%s: %s: %s; again in %.1f s", *key, failure.reason, failure.message, delay)
        elif known is None or (failure != known and now - self._told_at[key] >= _REFUSED_RETRY_S):
            log.warning("endpoint %s/%s: %s: %s", *key, failure.reason, failure.message)
            self._failures[key], self._told_at[key] = failure, now
            self.queue.retry(key)
            self.queue.add(key)  # the status doesn't tell of it yet
        else:
            self.queue.retry(key, _REFUSED_RETRY_S if failure.needs_a_person else failure.retry_after or 0.0)
