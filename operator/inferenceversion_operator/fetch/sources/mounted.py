"""``image://``, ``pvc://``, ``oci://``: the tree is mounted already; it is copied, since a claim can change later."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from inferenceversion_operator.fetch.errors import FetchError, Reason, classify, invalid, shown
from inferenceversion_operator.fetch.plan import Plan
from inferenceversion_operator.fetch.sources import Blob, Context

_CHUNK = 1 << 20
# Followed nowhere, and a pipe that takes the place of a file does not hold us.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def blobs(plan: Plan, context: Context) -> Iterator[Blob]:
    root = Path(plan.mounted or "")
    if plan.mounted is None or not root.is_absolute():
        raise FetchError(Reason.PLAN_INVALID, f"fetch.json: mounted is missing for {plan.source}")
    try:
        mode = root.lstat().st_mode
    except OSError as error:
        raise _unreadable(plan, "", error) from None
    if stat.S_ISREG(mode):
        yield _blob(plan, context, "", os.open(root, _OPEN))
    elif stat.S_ISDIR(mode) and root.resolve() == root:
        yield from _walk(plan, context, root)
    else:
        raise invalid(f"{plan.source} is neither a folder nor a regular file")


def _walk(plan: Plan, context: Context, root: Path) -> Iterator[Blob]:
    def fail(error: OSError) -> None:
        raise _unreadable(plan, os.path.relpath(error.filename or root, root), error)

    for folder, folders, files, descriptor in os.fwalk(root, onerror=fail):
        folders.sort()
        below = os.path.relpath(folder, root)
        if below.count("/") >= context.budget.limits.max_depth:
            raise invalid(f"'{shown(below)}' is deeper than {context.budget.limits.max_depth} folders")
        for name in sorted([*files, *folders]):
            path = name if below == "." else f"{below}/{name}"
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                kind = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
                raise invalid(f"'{shown(path)}' is {kind}; only regular files and folders are taken")
            try:
                opened = os.open(name, _OPEN, dir_fd=descriptor)
            except OSError as error:
                raise _unreadable(plan, path, error) from None
            yield _blob(plan, context, path, opened)


def _blob(plan: Plan, context: Context, path: str, descriptor: int) -> Blob:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise invalid(f"'{shown(path)}' is no regular file")
    context.budget.announce(found.st_size)
    return Blob(path, _read(plan, path, descriptor), found.st_size, executable=bool(found.st_mode & 0o111))


def _read(plan: Plan, path: str, descriptor: int) -> Iterator[bytes]:
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        while True:
            try:
                data = file.read(_CHUNK)
            except OSError as error:
                raise _unreadable(plan, path, error) from None
            if not data:
                return
            yield data


def _unreadable(plan: Plan, path: str, error: OSError) -> FetchError:
    where = f"{plan.source} ({shown(path)})" if path not in ("", ".") else plan.source
    if isinstance(error, FileNotFoundError):
        return FetchError(Reason.SOURCE_NOT_FOUND, f"{where} is not there")
    if isinstance(error, PermissionError):
        return FetchError(
            Reason.SOURCE_FORBIDDEN,
            f"{where} can't be read by the user of the pod: make it readable, or name another folder in model.source",
        )
    known = classify(error)
    return FetchError(known.reason, f"{where} can't be read ({type(error).__name__})", transient=True)
