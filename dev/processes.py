"""Processes that outlive the command that started them: known by pid and start time, ended by pid only."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dev.cache import write_atomically
from dev.shell import DevError, environment, tail


def start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat: a pid that was used again has another one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def living(record: Path) -> int | None:
    """The pid in a record, if that very process still runs."""
    try:
        pid, began = record.read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    return int(pid) if start_time(int(pid)) == began else None


def start(record: Path, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> int:
    """Start in a session of its own, so that Ctrl-C in the terminal does not reach it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env=environment(env) if env is None else dict(env),
        )
    write_atomically(record, f"{process.pid} {start_time(process.pid)}\n")
    return process.pid


def stop(record: Path, patience: float = 20.0) -> bool:
    """End the recorded process; SIGKILL once patience is over."""
    pid = living(record)
    if pid is None:
        record.unlink(missing_ok=True)
        return False
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while living(record) is not None:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            deadline += patience
        _reap(pid)
        time.sleep(0.05)
    record.unlink(missing_ok=True)
    return True


def _reap(pid: int) -> None:
    """Collect it if it is a child of this very process; else it is init's."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def wait_until(what: str, probe: Callable[[], bool], within: float, log: Path | None = None) -> None:
    """Ask again until the answer is yes; on timeout show the end of the log."""
    deadline = time.monotonic() + within
    while not probe():
        if time.monotonic() > deadline:
            said = f"; the end of {log}:\n{tail(log.read_text(errors='replace'))}" if log and log.exists() else ""
            raise DevError(f"{what} did not happen within {within:.0f} s{said}")
        time.sleep(0.1)
