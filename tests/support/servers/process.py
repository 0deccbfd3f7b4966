"""Child processes that are ready when they are handed out and gone when the test is."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_until(what: str, probe: Callable[[], object], within: float = 30) -> None:
    """Ask ``probe`` until it returns something true; say on timeout what it said last."""
    deadline = time.monotonic() + within
    seen: object = None
    while time.monotonic() < deadline:
        try:
            seen = probe()
        except OSError as error:
            seen = error
        else:
            if seen:
                return
        time.sleep(0.05)  # between two looks
    raise TimeoutError(f"{what}: not within {within} s; last seen: {seen!r}")


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
