"""A real Prometheus on loopback, built once into the cache; a test may kill it and start it again."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from dev import gotools
from dev.paths import paths
from tests.support.ports import free_ports
from tests.support.wait import NotYet, wait_until


class Prometheus:
    """A server that scrapes ``targets`` (``host:port``, path ``/metrics``) every 200 ms.

    Args:
        folder: for its data, configuration and log.
        web: of its ``--web.config.file``: certificates, users.
        jobs: its ``scrape_configs``, instead of the one for the targets.
    """

    def __init__(
        self,
        folder: Path,
        targets: Sequence[str] = (),
        *,
        web: dict[str, Any] | None = None,
        jobs: Sequence[dict[str, Any]] = (),
        metrics_path: str = "/metrics",
    ) -> None:
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._folder = folder
        self._web = web
        self._process: subprocess.Popen[bytes] | None = None
        job = {
            "job_name": "tests",
            "metrics_path": metrics_path,
            "static_configs": [{"targets": [*targets]}],
        }
        config = {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"}, "scrape_configs": [*jobs] or [job]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        (folder / "web.yml").write_text(yaml.safe_dump(web or {}))

    @property
    def url(self) -> str:
        return f"{'https' if self._web and 'tls_server_config' in self._web else 'http'}://{self.address}"

    def start(self) -> None:
        """Start it and wait until it listens."""
        gotools.build(paths(), "prometheus")
        command = [
            str(gotools.binary(paths(), "prometheus")),
            f"--config.file={self._folder}/prometheus.yml",
            f"--web.config.file={self._folder}/web.yml",
            f"--web.listen-address={self.address}",
            f"--storage.tsdb.path={self._folder}/data",
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until("Prometheus is ready", self._ready, within=30, every=0.05)

    def kill(self) -> None:
        """Kill it with -9; its address stays the same."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _ready(self) -> bool:
        log = (self._folder / "log").read_text(errors="replace")
        if self._process and self._process.poll() is not None:
            raise AssertionError(f"Prometheus ended: {log[-2000:]}")
        if self._web:  # a login or a certificate of its own: its log tells
            return "Server is ready to receive web requests" in log
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:  # it listens, and is not ready
            with error:
                raise NotYet(str(error)) from error
        except OSError as error:
            raise NotYet(str(error)) from error
