"""Build images/<NAME>/Dockerfile: stage its context, key it by content, hand it to the engine."""

import re
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from dev import base_images, cache, shell, wheels
from dev.engine import Engine
from dev.paths import ROOT, Paths
from dev.shell import DevError

# What the wheel of this repository is made from: pyproject.toml's build targets.
WHEEL_SOURCES = ("operator", "crds", "pyproject.toml", "LICENSE", "README.md")
_BASE_LINE = re.compile(r"^#\s*local-base:\s*(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Built:
    """What `build-image -o json` prints."""

    name: str
    tag: str
    id: str
    key: str
    cached: bool

    def document(self) -> dict[str, object]:
        return asdict(self)


def local_base(dockerfile: str) -> str:
    """The base that the Dockerfile's first comment asks for."""
    found = _BASE_LINE.search(dockerfile)
    return found[1] if found else "python-base"


def wants_wheel(dockerfile: str) -> bool:
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    return any("dist/" in line for line in lines)


def wheel_files(root: Path) -> list[Path]:
    files: list[Path] = []
    for name in WHEEL_SOURCES:
        path = root / name
        files += [path] if path.is_file() else cache.files_below(path)
    return files


def image_key(folder: Path, root: Path, base: str) -> str:
    """Content of everything that goes into the context, and the base."""
    dockerfile = (folder / "Dockerfile").read_text()
    parts = [base, cache.key_of_files(cache.files_below(folder), folder)]
    if wants_wheel(dockerfile):
        parts.append(cache.key_of_files(wheel_files(root), root))
    return cache.key_of(*parts)


def _repository_wheel(paths: Paths) -> Path:
    folder = paths.artifact("wheels", "repository", cache.key_of_files(wheel_files(ROOT), ROOT))

    def work(target: Path) -> None:
        shell.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "-w", target, ROOT],
            log=paths.log("wheels"),
            env={"SOURCE_DATE_EPOCH": "315532800"},  # the earliest date a zip file can hold: same tree, same bytes
        )

    cache.ensure(folder, work)
    return folder


def stage(paths: Paths, folder: Path, context: Path) -> None:
    """Fill the context as dev/README.md promises."""
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    shutil.copytree(folder, context, ignore=ignored)
    prepare = folder / "prepare.py"
    if prepare.exists():
        command: list[str | Path] = [sys.executable, prepare, "--out", context / "artifact"]
        shell.run(command, log=paths.log(f"image-{folder.name}"), env={"PYTHONDONTWRITEBYTECODE": "1"})
    requirements = folder / "requirements.txt"
    if requirements.exists():
        shutil.copytree(wheels.fetch(paths, requirements), context / "wheels", dirs_exist_ok=True)
    if wants_wheel((folder / "Dockerfile").read_text()):
        shutil.copytree(_repository_wheel(paths), context / "dist", dirs_exist_ok=True)


def newest_tags() -> list[str]:
    """The moving tag of every image of this repository."""
    return [f"localhost/{file.parent.name}:dev" for file in sorted((ROOT / "images").glob("*/Dockerfile"))]


def _base_argument(paths: Paths, engine: Engine, dockerfile: str) -> str | None:
    if not engine.local:
        return None  # the Dockerfile's own default: a public image
    name = local_base(dockerfile)
    base_images.build(paths, engine, name)
    return base_images.tag(name)


def build(paths: Paths, engine: Engine, name: str) -> Built:
    """Build the image, unless an image of this content is there."""
    if name in base_images.NAMES and engine.local:
        worked = base_images.build(paths, engine, name)
        return _built(engine, name, base_images.tag(name), base_images.key(name), cached=not worked)
    folder = ROOT / "images" / name
    if not (folder / "Dockerfile").is_file():
        raise DevError(f"there is no images/{name}/Dockerfile")
    base = _base_argument(paths, engine, (folder / "Dockerfile").read_text())
    key = image_key(folder, ROOT, base or "")
    tag = f"localhost/{name}:{key}"
    cached = engine.has_image(tag)
    if not cached:
        _build_context(paths, engine, name, tag, base)
    engine.docker("tag", tag, f"localhost/{name}:dev")
    return _built(engine, name, tag, key, cached=cached)


def _build_context(paths: Paths, engine: Engine, name: str, tag: str, base: str | None) -> None:
    context = paths.cache / f"tmp-context-{name}"
    shutil.rmtree(context, ignore_errors=True)
    context.parent.mkdir(parents=True, exist_ok=True)
    try:
        stage(paths, ROOT / "images" / name, context)
        arguments = [f"--build-arg=BASE={base}"] if base else []
        shell.run(
            ["docker", "build", "--network=none", *arguments, "-t", tag, context],
            log=paths.log(f"image-{name}"),
            env=engine.environment,
        )
    finally:
        shutil.rmtree(context, ignore_errors=True)


def _built(engine: Engine, name: str, tag: str, key: str, *, cached: bool) -> Built:
    identity = engine.docker("image", "inspect", "-f", "{{.Id}}", tag).strip()
    return Built(name, tag, identity, key, cached)
