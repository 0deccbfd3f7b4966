#!/usr/bin/env python3
"""Put the news-sentiment artifact into a folder: ``prepare.py --out DIR [--variant NAME]``.

What builds images calls this. It runs on a bare Python 3.11+ with pip: the packages of
``build-requirements.txt`` go into a folder of the cache, not into the caller's environment,
and an artifact that was built once from the same inputs is copied from there.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VARIANTS = ("good", "tokenizer", "slow", "flaky", "mixed")
_REQUIREMENTS = "build-requirements.txt"
_INPUTS = ("build_model.py", "head.json", _REQUIREMENTS, "model", "sentiment_build", "variants")


def cache_root() -> Path:
    """Return the folder of everything that is kept between builds; ``IVO_CACHE`` moves it."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = os.environ.get("IVO_CACHE") or str(Path(base) / "inferenceversion-operator")
    return Path(cache).absolute() / "triton-sentiment"


def packages(requirements: Path = ROOT / _REQUIREMENTS) -> Path:
    """Return a folder for ``PYTHONPATH`` with the pinned packages, installing them if need be.

    Raises:
        subprocess.CalledProcessError: pip could not get them; it has said why on stderr.
    """
    python = f"{sysconfig.get_platform()}-{sysconfig.get_python_version()}"
    folder = cache_root() / f"packages-{python}-{key([requirements])}"
    if not folder.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        choice = ["--no-deps", "--require-hashes", "--only-binary=:all:", "-r", str(requirements)]
        with _staged(folder) as staged:
            subprocess.run([*install, *choice, "--no-compile", "--target", str(staged)], check=True, stdout=sys.stderr)
    return folder


def artifact(variant: str) -> Path:
    """Return the folder of the built artifact, building it if its inputs are new."""
    folder = cache_root() / f"artifact-{variant}-{key(_input_files())}"
    if not folder.exists():
        with _staged(folder) as staged:
            build(staged, variant)
    return folder


def build(out: Path, variant: str) -> None:
    """Build an artifact into an empty folder in a process of its own, without the cache of artifacts."""
    environment = {**os.environ, "PYTHONPATH": str(packages()), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(ROOT / "build_model.py"), "--out", str(out), "--variant", variant]
    subprocess.run(command, check=True, env=environment, stdout=sys.stderr)


def key(files: Iterable[Path]) -> str:
    """Return 16 hex digits that change when a name or a byte of the files changes."""
    digest = hashlib.sha256()
    for path in sorted(files):
        name = os.path.relpath(path, ROOT).encode()
        digest.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@contextmanager
def _staged(target: Path) -> Iterator[Path]:
    """Give a folder to fill, and move it to ``target`` in one step; somebody being faster is no error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="staging-") as folder:
        content = Path(folder) / "content"
        content.mkdir()
        yield content
        try:
            content.rename(target)
        except OSError:
            if not target.exists():
                raise


def _input_files() -> list[Path]:
    found = [ROOT / name for name in _INPUTS]
    files = [path for entry in found for path in ([entry] if entry.is_file() else entry.rglob("*"))]
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare what the arguments ask for; return the exit code: 0, or 1 after a message."""
    parser = argparse.ArgumentParser(description="Put the news-sentiment artifact into a folder.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write; must be absent or empty")
    parser.add_argument("--variant", choices=VARIANTS, default="good")
    options = parser.parse_args(arguments)
    if options.out.exists() and any(options.out.iterdir()):
        print(f"prepare.py: {options.out} is not empty", file=sys.stderr)
        return 1
    try:
        shutil.copytree(artifact(options.variant), options.out, dirs_exist_ok=True, copy_function=shutil.copyfile)
    except subprocess.CalledProcessError as error:
        print(f"prepare.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
