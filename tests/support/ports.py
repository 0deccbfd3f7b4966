"""Ports for the servers of a test."""

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago; all are held until the last is known, so that none comes twice."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
