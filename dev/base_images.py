"""The images that images/<NAME>/Dockerfile starts from where public ones can't be pulled."""

import shutil
from pathlib import Path

from dev import cache, debian, parts, pins, shell, wheels
from dev.engine import Engine
from dev.paths import DEV, Paths

NAMES = ("python-base", "triton-base", "envoy")
TRITON_REQUIREMENTS = DEV / "requirements" / "triton.txt"
TRITON_DOCKERFILE = DEV / "images" / "triton-base" / "Dockerfile"


def repository(name: str) -> str:
    return f"localhost/{name}"


def key(name: str) -> str:
    if name == "python-base":
        return cache.key_of(debian.key(debian.PYTHON), *_PYTHON_CHANGES)
    if name == "triton-base":
        own = (TRITON_REQUIREMENTS, TRITON_DOCKERFILE, Path(__file__))
        return cache.key_of(key("python-base"), *(file.read_bytes() for file in own))
    if name == "envoy":
        return parts.envoy_key()
    raise shell.DevError(f"there is no base image {name}; there are: {', '.join(NAMES)}")


def tag(name: str) -> str:
    return f"{repository(name)}:{key(name)}"


def build(paths: Paths, engine: Engine, name: str) -> bool:
    """Make one base image and its moving tags; False if this very content is there."""
    if engine.has_image(tag(name)):
        return False
    {"python-base": _python, "triton-base": _triton, "envoy": _envoy}[name](paths, engine)
    engine.docker("tag", tag(name), f"{repository(name)}:dev")
    return True


_PYTHON_CHANGES = ("ENV LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1", 'CMD ["python3"]')


def _python(paths: Paths, engine: Engine) -> None:
    debian.build(paths, debian.PYTHON)
    changes = [word for change in _PYTHON_CHANGES for word in ("-c", change)]
    engine.docker("import", *changes, debian.tar(paths, debian.PYTHON), tag("python-base"))


def _envoy(paths: Paths, engine: Engine) -> None:
    debian.build(paths, debian.PYTHON)
    parts.build_envoy(paths)
    engine.docker("load", "-i", parts.envoy_tar(paths))
    engine.docker("tag", pins.LOCAL_ENVOY, tag("envoy"))


def _lay_out_triton(wheel_folder: Path, context: Path) -> None:
    """From the wheel's places to those of the public image; only the python backend's stub for our Python."""
    tree = context / "wheel"
    wheels.unpack(wheel_folder, "nvidia_pytriton", tree)
    server, source = context / "opt/tritonserver", tree / "pytriton/tritonserver"
    for part in ("bin", "backends", "caches"):
        shutil.copytree(source / part, server / part)
    stub = source / "python_backend_stubs/3.11/triton_python_backend_stub"
    shutil.copy2(stub, server / "backends/python/triton_python_backend_stub")
    shutil.copytree(tree / "nvidia_pytriton.libs", server / "lib")
    for program in (server / "bin/tritonserver", server / "backends/python/triton_python_backend_stub"):
        program.chmod(0o755)
    shutil.rmtree(tree)
    wheels.unpack(wheel_folder, "numpy", context / "dist-packages")


def _triton(paths: Paths, engine: Engine) -> None:
    build(paths, engine, "python-base")
    context = paths.cache / "tmp-triton-context"
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir(parents=True)
    try:
        _lay_out_triton(wheels.fetch(paths, TRITON_REQUIREMENTS), context)
        shutil.copy2(TRITON_DOCKERFILE, context / "Dockerfile")
        shell.run(
            [
                *("docker", "build", "--network=none", f"--build-arg=BASE={tag('python-base')}"),
                *("-t", tag("triton-base"), context),
            ],
            log=paths.log("image-triton-base"),
            env=engine.environment,
        )
    finally:
        shutil.rmtree(context, ignore_errors=True)
