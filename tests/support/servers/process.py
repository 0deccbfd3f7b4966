"""Child processes that are ready when they are handed out and gone when the test is."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.support import wait
from tests.support.wait import NotYet


def wait_until(what: str, probe: Callable[[], object], within: float = 30) -> None:
    """Wait as ``tests.support.wait`` does; a server that does not answer yet is one of the things to be seen."""

    def look() -> object:
        try:
            return probe()
        except OSError as error:
            raise NotYet(repr(error)) from error

    wait.wait_until(what, look, within=within, every=0.05)


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, grace: float = 10) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``command`` with its output in ``log``; end it, hard after ``grace`` seconds."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
