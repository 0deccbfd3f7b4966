"""Lines on stderr for those who watch a long download: what, how much, how fast."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator

_EVERY_SECONDS = 5.0
_WORTH_A_LINE = 16 << 20  # a source may have very many small files


class Progress:
    """Says what goes on; knows the values that must not be said."""

    def __init__(self, secrets: Iterable[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self._secrets = sorted((secret for secret in secrets if len(secret) > 3), key=len, reverse=True)
        self._clock = clock

    def clean(self, text: str) -> str:
        """Return ``text`` on one line without the value of any secret: the last net, not the first."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())

    def say(self, text: str) -> None:
        print(f"fetch: {self.clean(text)}", file=sys.stderr, flush=True)  # noqa: T201 - the pod's log

    def watch(self, chunks: Iterable[bytes], what: str, size: int | None) -> Iterator[bytes]:
        """Pass ``chunks`` on; a line every five seconds and, for a large one, at the end."""
        begin = said = self._clock()
        count = 0
        for chunk in chunks:
            count += len(chunk)
            yield chunk
            now = self._clock()
            if now - said >= _EVERY_SECONDS:
                said = now
                of = f" of {human(size)}" if size else ""
                self.say(f"{what}: {human(count)}{of}, {_rate(count, now - begin)}")
        if count >= _WORTH_A_LINE:
            self.say(f"{what}: {human(count)}, {_rate(count, self._clock() - begin)}")


def human(count: float) -> str:
    """Return a number of bytes as a person reads it."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def _rate(count: int, seconds: float) -> str:
    return f"{count / max(seconds, 1e-6) / 1e6:.1f} MB/s"
