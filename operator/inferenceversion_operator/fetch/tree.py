"""The folder that the source becomes, out of sight until it is verified: each file is hashed while it is written."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from inferenceversion_operator.fetch.errors import invalid, shown
from inferenceversion_operator.fetch.limits import Budget
from inferenceversion_operator.fetch.paths import safe_path


class Tree:
    """Regular files below ``root``; ``files`` has the hex sha256 of each."""

    def __init__(self, root: Path, budget: Budget) -> None:
        self.root = root
        self.budget = budget
        self.files: dict[str, str] = {}
        self._folders: set[str] = set()

    def add(self, name: str, chunks: Iterable[bytes], *, executable: bool = False) -> None:
        """Write one file; owner, times, setuid and the rest of its mode are not taken over."""
        path = self._admit(name)
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb", buffering=1 << 20) as file:  # noqa: PTH123 - a descriptor
            for chunk in chunks:
                self.budget.write(len(chunk))
                digest.update(chunk)
                file.write(chunk)
            os.fchmod(descriptor, 0o755 if executable else 0o644)
        self.files[path] = digest.hexdigest()

    def add_folder(self, name: str) -> None:
        """Check a folder that a source names; an empty one is not made, no hash would know of it."""
        path = safe_path(name, self.budget.limits.max_depth)
        if path in self.files:
            raise invalid(f"member '{shown(name)}' is there as a file and as a folder")
        if path:
            self._remember_folders(path)

    def _admit(self, name: str) -> str:
        path = safe_path(name, self.budget.limits.max_depth)
        if not path:
            raise invalid(f"member '{shown(name)}' is a file without a name")
        if path in self.files:
            raise invalid(f"member '{shown(name)}' is there twice")
        if path in self._folders:
            raise invalid(f"member '{shown(name)}' is there as a file and as a folder")
        self._remember_folders(str(PurePosixPath(path).parent))
        self.budget.add_file()
        return path

    def _remember_folders(self, path: str) -> None:
        while path != "." and path not in self._folders:
            if path in self.files:
                raise invalid(f"member '{shown(path)}' is there as a file and as a folder")
            if len(self._folders) >= self.budget.limits.max_files:
                raise invalid(f"the source has more than {self.budget.limits.max_files} folders")
            self._folders.add(path)
            path = str(PurePosixPath(path).parent)
