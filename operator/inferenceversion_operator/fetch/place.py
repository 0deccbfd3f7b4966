"""Triton's model repository out of the verified tree, by the plan's layout; configs come from the ConfigMap."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from inferenceversion_operator.api.content_hash import covers
from inferenceversion_operator.fetch.errors import FetchError, Reason, invalid, shown, without_secrets
from inferenceversion_operator.fetch.plan import Move, Plan
from inferenceversion_operator.fetch.progress import Progress


def arrange(plan: Plan, files: Mapping[str, str]) -> dict[str, str]:
    """Return where each file goes below ``/models``.

    A file belongs to the longest ``from`` that covers it, so ``.`` takes what no other entry takes. A ``from`` that
    is a file keeps its name in the folder ``to``, unless ``to`` already ends in that name.

    Raises:
        FetchError: an entry has no file, or two files would go to one place.
    """
    targets: dict[str, str] = {}
    used: set[Move] = set()
    for path in sorted(files):
        move = max((m for m in plan.layout if covers(m.source, path)), key=_precedence, default=None)
        if move is None:
            raise _wrong(f"layout: no entry takes {path}")
        used.add(move)
        targets[path] = _target(move, path)
    for move in plan.layout:
        if move not in used and move.source != ".":
            raise invalid(f"layout: there is no {move.source} in {without_secrets(plan.source)}")
    _check_collisions(targets)
    _check_needs(plan, targets)
    return targets


def _precedence(move: Move) -> int:
    return -1 if move.source == "." else len(move.source)


def _target(move: Move, path: str) -> str:
    name = path.rpartition("/")[2]
    if move.source == ".":
        rest = path
    elif path != move.source:
        rest = path.removeprefix(move.source + "/")
    elif move.to.rpartition("/")[2] == name:
        return move.to
    else:
        rest = name
    return rest if move.to == "." else f"{move.to}/{rest}"


def _check_collisions(targets: Mapping[str, str]) -> None:
    taken: dict[str, str] = {}
    for path, target in targets.items():
        if target in taken:
            raise _wrong(f"layout: {path} and {taken[target]} both go to {target}")
        taken[target] = path
    for path, target in targets.items():
        steps = target.split("/")
        for count in range(1, len(steps)):
            if "/".join(steps[:count]) in taken:
                raise _wrong(f"layout: {path} would go below the file {'/'.join(steps[:count])}")


def _check_needs(plan: Plan, targets: Mapping[str, str]) -> None:
    """Refuse a source without the file that Triton opens first: some of its backends wait for it for ever."""
    for need in plan.needs:
        if not any(covers(need, target) for target in targets.values()):
            found = shown(", ".join(sorted(targets)[:5])) + (", ..." if len(targets) > 5 else "")
            missing = f"there is no {need.rpartition('/')[2]} in {without_secrets(plan.source)}"
            raise invalid(f"{missing}, and that is what Triton loads; there is {found}")


def move_files(targets: Mapping[str, str], tree: Path, ready: Path) -> None:
    """Rename the files of ``tree`` to their places below ``ready``."""
    for path, target in targets.items():
        place = ready / target
        place.parent.mkdir(parents=True, exist_ok=True)
        (tree / path).rename(place)


def write_configs(plan: Plan, configs: Path, ready: Path, progress: Progress) -> None:
    """Copy the keys of the ConfigMap below ``ready``; they win over files of the source, being of the snapshot."""
    for config in plan.configs:
        place = ready / config.to
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.is_file():
                progress.say(f"{config.to} of the source gives way to the generated one")
                place.unlink()
            with (configs / config.key).open("rb") as source, place.open("xb") as copy:
                shutil.copyfileobj(source, copy)
        except FileNotFoundError:
            raise _wrong(f"configs: the ConfigMap has no key {config.key}") from None
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise _wrong(f"configs: {config.to} is in the way of a file of the source") from None
        place.chmod(0o644)


def _wrong(what: str) -> FetchError:
    return FetchError(Reason.PLAN_INVALID, f"fetch.json: {what}")
