"""The operator from the tree as a process of its own, so that a test can kill it and start it again."""

import contextlib
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.support.ports import free_ports
from tests.support.wait import NotYet, wait_until

ROOT = Path(__file__).parents[2]
ZEROS = "sha256:" + "0" * 64


class OperatorProcess:
    """An operator that watches one cluster; started on demand."""

    def __init__(self, kubeconfig: Path, log: Path, **environ: str) -> None:
        (self._port,) = free_ports(1)
        self._environ = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(ROOT / "operator"),
            "IVO_GUARD_IMAGE": f"registry.example/envoy@{ZEROS}",
            "IVO_FETCH_IMAGE": f"registry.example/operator@{ZEROS}",
            "IVO_LOG_LEVEL": "debug",
            "IVO_HEALTH_PORT": str(self._port),
            **environ,
        }
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until its probe answers."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "inferenceversion_operator"]
            self._process = subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)
        wait_until("the operator answers its probe", self._healthy, within=60)

    def kill(self) -> None:
        """Kill it with -9."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> int:
        """Ask it to end and return its exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout=30)
        self._process = None
        return code

    def rss_mib(self) -> float:
        """Return the resident memory in MiB."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """Return the processor time used so far."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def _pid(self) -> int:
        if self._process is None:
            raise AssertionError("the operator does not run")
        return self._process.pid

    def said(self) -> str:
        """Return its log."""
        return self._log.read_text()

    def _healthy(self) -> bool:
        if self._process and self._process.poll() is not None:
            raise AssertionError(f"the operator ended with {self._process.returncode}: {self.said()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError as error:
            raise NotYet(str(error)) from error


@contextlib.contextmanager
def running_operator(kubeconfig: Path, log: Path, **environ: str) -> Iterator[OperatorProcess]:
    """Run an operator for the length of a block."""
    operator = OperatorProcess(kubeconfig, log, **environ)
    operator.start()
    try:
        yield operator
    finally:
        operator.kill()
