"""kubectl as a user runs it: the acts of a story. Reads that are repeated go through ``cluster_api`` instead."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]


class KubectlFailed(AssertionError):
    """kubectl ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl binary, the cluster and the namespace that it talks to."""

    binary: Path
    kubeconfig: Path
    namespace: str = ""

    def inside(self, namespace: str) -> "Kubectl":
        return replace(self, namespace=namespace)

    def run(self, *words: str, stdin: str | None = None, timeout: float = 90) -> str:
        """Run kubectl and return what it printed.

        Raises:
            KubectlFailed: it said no.
        """
        place = [f"--namespace={self.namespace}"] if self.namespace else []
        done = subprocess.run(
            [str(self.binary), f"--kubeconfig={self.kubeconfig}", *place, *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "KUBECTL_KUBERC": "false"},
        )
        if done.returncode:
            raise KubectlFailed(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def feed(self, *words: str, data: bytes, timeout: float = 120) -> None:
        """Run kubectl with these bytes as its input.

        Raises:
            KubectlFailed: it said no.
        """
        command = [str(self.binary), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *words]
        done = subprocess.run(command, input=data, capture_output=True, timeout=timeout, check=False)
        if done.returncode:
            raise KubectlFailed(f"kubectl {words[0]}: {done.stderr.decode(errors='replace').strip()}")

    def refused(self, *words: str, stdin: str | None = None) -> str:
        """Run what has to be refused, and return the message."""
        try:
            said = self.run(*words, stdin=stdin)
        except KubectlFailed as refusal:
            return str(refusal)
        raise AssertionError(f"kubectl {' '.join(words)} was not refused: {said}")

    def apply(self, *objects: Object) -> str:
        return self.run("apply", "-f", "-", stdin=_listed(objects))

    def delete(self, kind: str, *names: str, wait: bool = False) -> str:
        return self.run("delete", kind, *names, f"--wait={str(wait).lower()}", "--ignore-not-found")

    def patch(self, kind: str, name: str, body: Any, *, how: str = "merge", subresource: str = "") -> str:
        extra = [f"--subresource={subresource}"] if subresource else []
        return self.run("patch", kind, name, f"--type={how}", "-p", json.dumps(body), *extra)


def _listed(objects: tuple[Object, ...]) -> str:
    if len(objects) == 1:
        return json.dumps(objects[0])
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
