"""What every act plays on: the cluster, the endpoint, the image, and the commands that a person would type."""

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from demo.ask import NotServingError
from demo.cluster import ROOT, Cluster, CommandFailedError
from demo.endpoint import NAMESPACE, Endpoint, StoryError
from demo.manifests import Object, as_file, name_of
from demo.say import say
from demo.scene import state_in_words
from demo.tally import in_words, only, tally
from demo.traffic import Traffic

FOLDER = Path("build/demo")
_SETTLED = 40  # answers in a row


@dataclass(frozen=True, slots=True)
class Stage:
    """The demo while it is up; ``image`` is that of the news-sentiment service, by digest."""

    cluster: Cluster
    endpoint: Endpoint
    image: str

    def traffic(self) -> Traffic:
        """Return live traffic to the endpoint, which has an address by now.

        Raises:
            StoryError: it has none.
        """
        if not self.cluster.gateway:
            raise StoryError("where is the Gateway? say GATEWAY_ADDRESS (host:port, as it is reached from here)")
        seen = self.endpoint.look()
        if seen is None or not seen.host:
            raise StoryError(f"the endpoint has no address: {state_in_words(seen.view if seen else None)}")
        return Traffic(self.cluster.gateway, seen.host)

    def file_of(self, version: str) -> Path:
        """Return where the manifest of a version is, relative to the repository."""
        return FOLDER / f"{name_of(version)}.yaml"

    def write(self, manifest: Object) -> Path:
        """Write a manifest for people to read; return where it is."""
        path = self.file_of(manifest["spec"]["version"])
        (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(as_file(manifest), "utf-8")
        return path

    def apply(self, manifest: Object) -> None:
        """Write a manifest and apply it.

        Raises:
            CommandFailedError: the API server refuses it.
        """
        path = self.write(manifest)
        say(f"$ kubectl apply -f {path}")
        self.cluster.kubectl("apply", f"--namespace={NAMESPACE}", "-f", str(path))

    def iv(self, *words: str, good: Sequence[int] = (0,)) -> str:
        """Run ``kubectl iv`` as a person would, and return what it says.

        Raises:
            CommandFailedError: it ended with another exit code than the good ones.
        """
        command = [sys.executable, "-m", "inferenceversion_operator.cli", *words]
        environment = {**self.cluster.environment, "KUBECONFIG": str(self.cluster.kubeconfig), "NO_COLOR": "1"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=180, check=False
        )
        if done.returncode not in good:
            raise CommandFailedError(f"kubectl iv {' '.join(words)}: {done.stderr or done.stdout}")
        return done.stderr + done.stdout

    def patch(self, what: str) -> None:
        """Change the endpoint by a merge patch."""
        words = ("patch", f"--namespace={NAMESPACE}", "iep", "news-sentiment", "--type=merge", "-p", what)
        self.cluster.kubectl(*words)


def wait_until_alone(traffic: Traffic, version: str, within: float = 30) -> None:
    """Wait until this version gives the answers to the newest requests, all of them.

    Raises:
        NotServingError: not in time.
    """
    began = time.monotonic()
    while not only(traffic.records, version, began, _SETTLED):
        if time.monotonic() - began > within:
            newest = in_words(tally(traffic.records[-_SETTLED:]))
            raise NotServingError(f"{version} does not answer alone after {within:.0f} s; the newest: {newest}")
        time.sleep(0.1)
