"""Start other programs: their output goes to a log file, and the end of it into the error."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

TAIL_LINES = 15


class DevError(Exception):
    """Something the user should read as one message, without a traceback."""


class CommandError(DevError):
    """A program that did not end well."""


def tail(text: str, lines: int = TAIL_LINES) -> str:
    return "\n".join(text.rstrip().splitlines()[-lines:])


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, **(extra or {})}


def run(
    command: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: IO[bytes] | bytes | None = None,
) -> None:
    """Run to the end; everything it says is appended to `log`."""
    words = [str(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        sink.write(("$ " + " ".join(words) + "\n").encode())
        sink.flush()
        start = sink.tell()
        data = stdin if isinstance(stdin, bytes) else None
        source = None if isinstance(stdin, bytes) else (stdin or subprocess.DEVNULL)
        result = subprocess.run(
            words,
            stdin=source,
            input=data,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=environment(env),
            cwd=cwd,
            check=False,
        )
    if result.returncode != 0:
        with log.open("rb") as written:
            written.seek(start)
            said = tail(written.read().decode(errors="replace"))
        raise CommandError(f"{words[0]} ended with {result.returncode}; the end of {log}:\n{said}")


def output(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
) -> str:
    """Run to the end and return what it printed."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(
            words,
            capture_output=True,
            text=True,
            env=environment(env),
            cwd=cwd,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            check=False,
            timeout=timeout,
        )
    except FileNotFoundError as error:
        raise CommandError(f"{words[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{' '.join(words[:4])} did not end within {timeout:.0f} s") from error
    if result.returncode != 0:
        raise CommandError(f"{' '.join(words)} ended with {result.returncode}:\n{tail(result.stderr or result.stdout)}")
    return result.stdout


def succeeds(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, timeout: float = 30) -> bool:
    try:
        output(command, env=env, timeout=timeout)
    except CommandError:
        return False
    return True
