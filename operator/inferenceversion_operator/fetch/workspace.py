"""The folders of one run: begun empty, and nothing but whole, verified folders reaches ``models``."""

import errno
import os
import shutil
from pathlib import Path

_STAGE = ".fetch"


class Workspace:
    """``tree`` and ``ready`` are out of sight and on the same mount as ``models``, so that a move is a rename."""

    def __init__(self, models: Path, work: Path) -> None:
        """Remove what an earlier run left, crashed or not, and make the folders."""
        self.models = models
        self._work = work
        for folder in (models, work):
            folder.mkdir(parents=True, exist_ok=True)
            _empty(folder, keep={models, work})
        self._stage = _stage_on_the_mount_of(models, work)
        self.tree = self._stage / "tree"
        self.ready = self._stage / "ready"
        self.scratch = self._stage / "archive"
        self.tree.mkdir(parents=True)
        self.ready.mkdir()

    def publish(self) -> None:
        """Move everything in ``ready`` to ``models``.

        No fsync: the volume does not outlive the pod, and a pod that is started again fetches again.
        """
        for entry in sorted(self.ready.iterdir()):
            entry.rename(self.models / entry.name)
        self.remove()

    def remove(self) -> None:
        """Remove all but what was published."""
        shutil.rmtree(self._stage, ignore_errors=True)


def _stage_on_the_mount_of(models: Path, work: Path) -> Path:
    stage = work / _STAGE
    stage.mkdir(mode=0o700)
    probe = models / _STAGE
    try:
        stage.rename(probe)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # Another mount, be it of the same volume: work out of sight within models.
        stage.rmdir()
        probe.mkdir(mode=0o700)
        return probe
    probe.rename(stage)
    return stage


def _empty(folder: Path, keep: set[Path]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if path in keep or any(path in kept.parents for kept in keep):
                continue
            if entry.is_dir(follow_symlinks=False):
                # The root of a volume may hold a lost+found that is not ours; whatever else stays, publish trips over.
                shutil.rmtree(path, ignore_errors=entry.name == "lost+found")
            else:
                path.unlink()
