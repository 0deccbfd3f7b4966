"""kubectl against the cluster that is up: the few calls that `dev` itself makes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev import gotools, shell
from dev.paths import Paths


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl binary and the cluster it talks to."""

    binary: Path
    kubeconfig: Path
    log: Path

    def _words(self, *words: str | Path) -> list[str]:
        return [str(self.binary), f"--kubeconfig={self.kubeconfig}", *(str(word) for word in words)]

    def output(self, *words: str | Path, timeout: float = 60) -> str:
        return shell.output(self._words(*words), timeout=timeout)

    def succeeds(self, *words: str | Path, timeout: float = 10) -> bool:
        return shell.succeeds(self._words(*words), timeout=timeout)

    def get(self, *words: str) -> Any:
        return json.loads(self.output("get", *words, "-o", "json"))

    def apply(self, manifest: str) -> None:
        """Server-side: the CRDs of Envoy Gateway are larger than the annotation of the client-side way may be."""
        shell.run(
            self._words("apply", "--server-side", "--force-conflicts", "--field-manager=dev", "-f", "-"),
            log=self.log,
            stdin=manifest.encode(),
        )

    def wait(self, what: str, condition: str, *, namespace: str = "", seconds: int = 120) -> None:
        place = ["-n", namespace] if namespace else []
        shell.run(self._words("wait", what, f"--for={condition}", f"--timeout={seconds}s", *place), log=self.log)


def kubectl(paths: Paths) -> Kubectl:
    return Kubectl(gotools.binary(paths, "kubernetes", "kubectl"), paths.kubeconfig, paths.log("kubectl"))
