"""Where things are: the repository, the cache of built parts, the state of the running cluster."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEV = ROOT / "dev"
NAME = "inferenceversion-operator"


@dataclass(frozen=True, slots=True)
class Paths:
    """Every folder that ``dev`` writes to; all of them are outside the tree."""

    cache: Path
    run: Path

    @property
    def state(self) -> Path:
        """What belongs to the cluster that is up now; `down` empties it."""
        return self.cache / "state"

    @property
    def logs(self) -> Path:
        return self.cache / "logs"

    @property
    def docker_data(self) -> Path:
        """Images of our own dockerd. Kept by `down`: the node image in it is what makes a warm `up` fast."""
        return self.cache / "docker"

    @property
    def socket(self) -> Path:
        return self.run / "docker.sock"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def artifact(self, kind: str, name: str, key: str) -> Path:
        return self.cache / kind / f"{name}-{key}"


def paths() -> Paths:
    """Read the folders from the environment; IVO_CACHE moves all of them but the sockets."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = Path(os.environ.get("IVO_CACHE") or Path(base) / NAME)
    # Sockets do not go into the cache: a path to a unix socket may have 107 characters only.
    return Paths(cache=cache.absolute(), run=Path("/run") / NAME)
