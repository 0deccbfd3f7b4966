"""Live traffic: real headlines through the Gateway at a steady pace, in threads of its own, and every answer kept."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from demo.ask import TIMEOUT_S, Answer, NoAnswer, ask
from demo.headlines import HEADLINES, MORE
from demo.pace import due, text_of

RATE = 20.0  # requests a second
# As many as can wait at once, were no answer to come: the pace is kept whatever the service does.
_WORKERS = int(RATE * TIMEOUT_S)

Record = Answer | NoAnswer


class Traffic:
    """Sends headlines while the ``with`` lasts; a slow answer delays no other request."""

    def __init__(self, gateway: str, host: str, rate: float = RATE) -> None:
        self.gateway, self.host = gateway, host
        self._rate = rate
        self._records: list[Record] = []
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(_WORKERS, "traffic")
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self._pool.shutdown(wait=True)

    @property
    def records(self) -> list[Record]:
        """Return what came so far, in the order in which it was sent."""
        return sorted(self._records, key=lambda record: record.sent)

    def _run(self) -> None:
        began, number = time.monotonic(), 0
        while not self._stop.wait(due(began, number, self._rate) - time.monotonic()):
            self._pool.submit(self._one, number)
            number += 1

    def _one(self, number: int) -> None:
        self._records.append(ask(self.gateway, self.host, text_of(number, HEADLINES + MORE)))
