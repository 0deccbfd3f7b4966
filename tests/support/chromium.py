"""Gets a headless Chromium once: that of the machine, else Debian's packages, unpacked into the cache.

Nothing is installed: apt resolves and downloads what this machine has not (about 100 MB), dpkg-deb unpacks it, and the
program finds its libraries by LD_LIBRARY_PATH. ``IVO_CHROMIUM`` names another one. Needs no root.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from dev import cache, shell
from dev.paths import paths

_INSTALLED = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")
_FONTS = "fonts.conf"
_PROGRAM = "usr/lib/chromium/chromium-headless-shell"


class NoBrowser(Exception):
    """There is no Chromium, and none can be had; the text says why."""


@dataclass(frozen=True, slots=True)
class Chromium:
    """A program and what it needs to start."""

    program: Path
    environment: dict[str, str]

    def version(self) -> str:
        """Return what it calls itself; proves that it has all its libraries.

        Raises:
            CommandError: it does not start.
        """
        return shell.output([self.program, "--version"], env=self.environment, timeout=60).strip()


@once
def chromium() -> Chromium:
    """Return a Chromium that starts; it is got the first time.

    Raises:
        NoBrowser: there is none.
    """
    named = os.environ.get("IVO_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, _INSTALLED)), None)
    if found:
        return Chromium(Path(found), {})
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise NoBrowser("no Chromium in the PATH, and no apt to get Debian's")
    folder = paths().artifact("tests", "chromium", _key())
    with cache.exclusive(folder.parent):
        try:
            return _unpacked(folder)
        except shell.CommandError as error:
            raise NoBrowser(f"Debian's Chromium can't be had: {error}") from error


def _unpacked(folder: Path) -> Chromium:
    cache.ensure(folder, _get)
    found = _in(folder)
    try:
        found.version()
    except shell.CommandError:  # a library that this machine had is gone since
        shutil.rmtree(folder)
        cache.ensure(folder, _get)
        found = _in(folder)
        found.version()
    return found


def _in(folder: Path) -> Chromium:
    libraries = ":".join(_libraries(folder))
    return Chromium(folder / _PROGRAM, {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": str(folder / _FONTS)})


def _libraries(folder: Path) -> Iterator[str]:
    """Yield the folders that have a library."""
    for path in sorted({found.parent for found in folder.glob("usr/lib/*-linux-gnu/**/*.so*")}):
        yield str(path)


def _distribution() -> str:
    return Path("/etc/os-release").read_text()


def _get(folder: Path) -> None:
    """Download and unpack; lists and locks of apt are the cache's own, so that the machine's stay as they are."""
    state, log = folder / ".apt", paths().log("chromium")
    for part in ("lists/partial", "archives/partial"):
        (state / part).mkdir(parents=True)
    options = [
        f"Dir::State::lists={state}/lists",
        f"Dir::Cache={state}",
        f"Dir::Cache::archives={state}/archives",
        "Debug::NoLocking=1",
        "APT::Sandbox::User=",  # it may not read the cache of whoever runs this
        "APT::Install-Recommends=false",
    ]
    apt = ["apt-get", *(word for option in options for word in ("-o", option)), "--quiet", "--yes"]
    print("getting a headless Chromium from Debian's packages (about 100 MB)", file=sys.stderr)
    shell.run([*apt, "update"], log=log)
    shell.run([*apt, "install", "--download-only", *_PACKAGES], log=log)
    for package in sorted((state / "archives").glob("*.deb")):
        shell.run(["dpkg-deb", "--extract", package, folder], log=log)
    shutil.rmtree(state)
    final = paths().artifact("tests", "chromium", _key())
    where = ("/usr/share/fonts", final / "usr/share/fonts")
    fonts = "".join(f"<dir>{path}</dir>" for path in where)
    kinds = ("sans-serif", "DejaVu Sans"), ("system-ui", "DejaVu Sans"), ("monospace", "DejaVu Sans Mono")
    for kind, font in kinds:
        fonts += f"<alias><family>{kind}</family><prefer><family>{font}</family></prefer></alias>"
    (folder / _FONTS).write_text(f"<fontconfig>{fonts}<cachedir>{final}/.fonts</cachedir></fontconfig>\n")


def _key() -> str:
    return cache.key_of(*_PACKAGES, _distribution())


if __name__ == "__main__":  # make browser
    try:
        print(chromium().version())
    except NoBrowser as error:
        print(f"{error}: tests that need a browser are skipped", file=sys.stderr)
    except subprocess.SubprocessError as error:
        print(f"Chromium does not start: {error}: tests that need a browser are skipped", file=sys.stderr)
