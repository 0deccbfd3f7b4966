"""What the tests of fetch share: a plan, a run as its container would run it, hashes by hand."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OPERATOR = Path(__file__).parents[3] / "operator"


def shell_hash(folder: Path, *, exclude: str = "") -> str:
    """Return the folder's hash by the command of docs/architecture.md."""
    cut = f"| grep -v '^{exclude}/'" if exclude else ""
    pipe = rf"find . -type f -printf '%P\n' {cut} | LC_ALL=C sort | xargs -r -d '\n' sha256sum -- | sha256sum"
    done = subprocess.run(["bash", "-c", pipe], cwd=folder, check=True, capture_output=True, text=True)
    return "sha256:" + done.stdout.split()[0]


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@dataclass
class Ended:
    code: int
    told: dict[str, Any]
    stderr: str
    tree: dict[str, bytes] = field(default_factory=dict)  # below models

    @property
    def reason(self) -> str:
        return self.told["reason"]

    @property
    def message(self) -> str:
        return self.told["message"]


class Pod:
    """The volumes of a pod, and fetch run in it as often as one likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models = folder / "data" / "models"
        self.work = folder / "data" / "work"
        self.configs = write_files(folder / "configs", {"config.pbtxt": b'name: "m"\n'})
        self.log = folder / "termination-log"
        self.prefix: list[str] = []

    def start(self, plan: dict[str, Any], env: dict[str, str] | None = None, *more: str) -> subprocess.Popen[str]:
        self.log.unlink(missing_ok=True)
        (self.configs / "fetch.json").write_text(json.dumps({"layout": [{"from": ".", "to": "m/1"}], **plan}))
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "HTTP", "SSL_"))}
        arguments = {
            "--plan": self.configs / "fetch.json",
            "--models": self.models,
            "--work": self.work,
            "--configs": self.configs,
            "--termination-log": self.log,
        }
        return subprocess.Popen(
            [
                *self.prefix,
                sys.executable,
                "-m",
                "inferenceversion_operator.fetch",
                *(f"{k}={v}" for k, v in arguments.items()),
                *more,
            ],
            env={**clean, "PYTHONPATH": str(OPERATOR), **(env or {})},
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, plan: dict[str, Any], env: dict[str, str] | None = None, *more: str) -> Ended:
        process = self.start(plan, env, *more)
        _, stderr = process.communicate(timeout=120)
        told = json.loads(self.log.read_text()) if self.log.exists() else {}
        return Ended(process.returncode, told, stderr, self.tree())

    def tree(self) -> dict[str, bytes]:
        found = (path for path in self.models.rglob("*") if path.is_file())
        return {str(path.relative_to(self.models)): path.read_bytes() for path in found}
