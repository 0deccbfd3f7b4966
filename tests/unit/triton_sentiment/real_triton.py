"""A real tritonserver (CPU, Python backend) as a process on loopback, for tests marked ``triton``.

The server is the one of the local images: ``dev/requirements/triton.txt``. To install it into the
cache once: ``python tests/unit/triton_sentiment/real_triton.py``.
"""

import importlib.util
import shutil
import socket
import subprocess
import sys
import sysconfig
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
IMAGE = ROOT / "images" / "triton-sentiment"
MODEL = "news_sentiment"
# What the operator gives Triton in a pod, as far as it matters on loopback.
FLAGS = ("--disable-auto-complete-config", "--exit-timeout-secs=10", "--log-info=false", "--allow-gpu-metrics=false")


def load(path: Path) -> ModuleType:
    """Import a script that is in no package by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prepare = load(IMAGE / "prepare.py")
SERVER_REQUIREMENTS = ROOT / "dev" / "requirements" / "triton.txt"
MODEL_REQUIREMENTS = IMAGE / "requirements.txt"


@dataclass(frozen=True)
class Installation:
    """Where the server, its backend and the model's packages are."""

    server: Path
    python: Path  # a virtual environment that sees the model's packages and no others

    @property
    def binary(self) -> Path:
        return self.server / "pytriton" / "tritonserver" / "bin" / "tritonserver"

    @property
    def backends(self) -> Path:
        return self.python / "backends"

    def environment(self) -> dict[str, str]:
        # Triton starts the stub of its Python backend, and that finds its packages through the first python on PATH.
        libraries = [str(self.server / "nvidia_pytriton.libs"), str(sysconfig.get_config_var("LIBDIR"))]
        return {"PATH": f"{self.python / 'bin'}:/usr/bin:/bin", "LD_LIBRARY_PATH": ":".join(libraries)}


def installed() -> Installation | None:
    """Return what ``install`` made, or None if it was not called."""
    key = prepare.key([SERVER_REQUIREMENTS, MODEL_REQUIREMENTS, Path(__file__)])
    found = Installation(_packages(SERVER_REQUIREMENTS), prepare.cache_root() / f"triton-python-{key}")
    return found if found.python.exists() and found.server.exists() else None


def install() -> Installation:
    """Download and lay out server and packages in the cache."""
    server, model = prepare.packages(SERVER_REQUIREMENTS), prepare.packages(MODEL_REQUIREMENTS)
    key = prepare.key([SERVER_REQUIREMENTS, MODEL_REQUIREMENTS, Path(__file__)])
    target = prepare.cache_root() / f"triton-python-{key}"
    if not target.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        (target / "lib" / f"python{version}" / "site-packages" / "model.pth").write_text(f"{model}\n")
        tree = server / "pytriton" / "tritonserver"
        shutil.copytree(tree / "backends", target / "backends")
        stub = tree / "python_backend_stubs" / version / "triton_python_backend_stub"
        shutil.copy(stub, target / "backends" / "python")
        (tree / "bin" / "tritonserver").chmod(0o755)
    found = installed()
    assert found
    return found


def _packages(requirements: Path) -> Path:
    python = f"{sysconfig.get_platform()}-{sysconfig.get_python_version()}"
    return Path(prepare.cache_root()) / f"packages-{python}-{prepare.key([requirements])}"


@dataclass
class Server:
    """A started tritonserver."""

    process: subprocess.Popen[bytes]
    log: Path
    http: int
    grpc: int

    def tail(self, size: int = 2048) -> str:
        """Return what Kubernetes would take for the termination message."""
        return self.log.read_bytes()[-size:].decode(errors="replace")

    def wait_ready(self, within: float = 60) -> None:
        """Return once every model is loaded; raise with the log's tail if Triton ends or is late."""
        for _ in range(int(within * 10)):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.http}/v2/health/ready", timeout=5).close()
            except (urllib.error.URLError, OSError):
                pass
            else:
                return
            try:
                self.process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(f"Triton ended with {self.process.returncode}: {self.tail()}")
        raise AssertionError(f"not ready after {within} s: {self.tail()}")


@contextmanager
def serve(found: Installation, repository: Path, log: Path) -> Iterator[Server]:
    """Start Triton on free ports; it is ended at the end of the block."""
    http, grpc = _free_ports(2)
    command = [
        *(str(found.binary), f"--model-repository={repository}", f"--backend-directory={found.backends}"),
        *("--http-address=127.0.0.1", f"--http-port={http}", "--grpc-address=127.0.0.1", f"--grpc-port={grpc}"),
        *("--allow-metrics=false", *FLAGS),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=found.environment(), stdout=output, stderr=subprocess.STDOUT)
    try:
        yield Server(process, log, http, grpc)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@dataclass(frozen=True)
class Repository:
    """Lays out a model repository around an artifact, as the operator's ConfigMap and fetch do."""

    artifact: Path
    parameters: dict[str, str] = field(default_factory=dict)
    instances: int = 2
    output: str = "SCORES"
    queue_delay_ms: int = 10

    def write(self, folder: Path) -> Path:
        model = folder / MODEL
        shutil.copytree(self.artifact, model / "1")
        (model / "warmup").mkdir()
        text = b"Markets calm as the summit ends"
        (model / "warmup" / "strings-1").write_bytes(len(text).to_bytes(4, "little") + text)
        (model / "config.pbtxt").write_text(self.config())
        return folder

    def config(self) -> str:
        parameters = "".join(
            f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
            for key, value in self.parameters.items()
        )
        warmup = 'inputs { key: "TEXT" value { data_type: TYPE_STRING dims: 1 input_data_file: "strings-1" } }'
        return f"""name: "{MODEL}"
backend: "python"
max_batch_size: 32
input {{ name: "TEXT" data_type: TYPE_STRING dims: 1 }}
output {{ name: "LABEL" data_type: TYPE_STRING dims: 1 }}
output {{ name: "{self.output}" data_type: TYPE_FP32 dims: 3 }}
instance_group {{ count: {self.instances} kind: KIND_CPU }}
dynamic_batching {{ preferred_batch_size: 24 max_queue_delay_microseconds: {self.queue_delay_ms}000 }}
model_warmup {{ name: "batch of 1" batch_size: 1 {warmup} }}
model_warmup {{ name: "batch of 32" batch_size: 32 {warmup} }}
{parameters}"""


if __name__ == "__main__":
    print(install().server)
