"""Get pinned wheels from PyPI, through pip on the host, into the cache."""

import sys
import zipfile
from pathlib import Path

from dev import cache, shell
from dev.paths import Paths

IMAGE_PYTHON = (3, 11)
# What CPython 3.11 on Debian bookworm (glibc 2.36) can load, newest first.
PLATFORMS = (*(f"manylinux_2_{minor}_x86_64" for minor in (35, 31, 28, 27, 24, 17)), "manylinux2014_x86_64")


def foreign_options() -> list[str]:
    """Options that make pip choose for the image's Python, whatever Python runs here."""
    options = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", "--abi=cp311", "--abi=abi3"]
    return [*options, "--abi=none", *(f"--platform={platform}" for platform in PLATFORMS)]


def command(requirements: Path, target: Path, *, same_python: bool) -> list[str]:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if same_python:  # can also build what has no wheel
        return [*pip, "wheel", "--no-deps", "--require-hashes", "-r", str(requirements), "-w", str(target)]
    return [
        *(*pip, "download", "--no-deps", "--require-hashes", *foreign_options()),
        *("-r", str(requirements), "-d", str(target)),
    ]


def fetch(paths: Paths, requirements: Path) -> Path:
    """The folder of wheels for a requirements file with hashes, keyed by the file's content."""
    key = cache.key_of(requirements.read_bytes(), "cp311-x86_64")
    folder = paths.artifact("wheels", "requirements", key)

    def work(target: Path) -> None:
        same = sys.version_info[:2] == IMAGE_PYTHON
        shell.run(command(requirements, target, same_python=same), log=paths.log("wheels"))

    cache.ensure(folder, work)
    return folder


def unpack(wheel_folder: Path, name: str, target: Path) -> None:
    """Unzip one wheel; unlike pip this keeps scripts and data where the wheel has them."""
    wheel = next(wheel_folder.glob(f"{name}-*.whl"))
    with zipfile.ZipFile(wheel) as source:
        for info in source.infolist():
            path = Path(source.extract(info, target))
            mode = info.external_attr >> 16 & 0o777
            if mode and path.is_file():
                path.chmod(mode | 0o644)
