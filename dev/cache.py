"""Build things once: a folder per content key, made complete by one rename."""

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

KEY_LENGTH = 12


def key_of(*parts: str | bytes) -> str:
    """Hash of all parts; lengths are hashed too, so that ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:KEY_LENGTH]


def files_below(folder: Path) -> Iterator[Path]:
    """Regular files in a stable order, without what tools leave behind."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def key_of_files(files: Iterable[Path], base: Path) -> str:
    """Hash of names, modes and contents."""
    parts: list[str | bytes] = []
    for path in files:
        executable = os.access(path, os.X_OK)
        parts += [str(path.relative_to(base)), "x" if executable else "-", path.read_bytes()]
    return key_of(*parts)


def ensure(target: Path, build: Callable[[Path], None]) -> bool:
    """Let `build` fill a folder that becomes `target`; False if it was there already.

    An interrupted build leaves only the temporary folder, which the next one throws away.
    """
    if target.exists():
        return False
    temporary = target.with_name(f".tmp-{target.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    build(temporary)
    temporary.rename(target)
    return True


def write_atomically(target: Path, text: str, mode: int = 0o644) -> None:
    temporary = target.with_name(f".tmp-{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_text(text)
    temporary.chmod(mode)
    temporary.rename(target)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """One `dev` command at a time changes the cache; a second one waits and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another `python -m dev` to finish", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
