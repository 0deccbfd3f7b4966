"""Helm, where it is: in PATH, or built by dev/ into its cache."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "charts" / "inferenceversion-operator"
Render = Callable[..., list[dict[str, Any]]]


def _found() -> str | None:
    if named := os.environ.get("HELM") or shutil.which("helm"):
        return named
    try:
        from dev import gotools, paths

        built = gotools.binary(paths.paths(), "helm")
    except Exception:  # noqa: BLE001 - whatever keeps dev/ from answering, there is no helm from it
        return None
    return str(built) if built.is_file() else None


@pytest.fixture(scope="session")
def helm() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run helm and return what it said."""
    binary = _found()
    if binary is None:
        pytest.skip("helm is not there: `make up` builds it, or set HELM")
    assert binary

    def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([binary, *map(str, args)], text=True, capture_output=True, check=False)

    return run


@pytest.fixture
def template(helm) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Render the chart as a release `ivo` in namespace `ivo-system`; the result may be a refusal."""
    return lambda *args, chart=CHART: helm(
        "template", "ivo", chart, "-n", "ivo-system", "--kube-version", "v1.37.2", *args
    )


@pytest.fixture
def render(template) -> Render:
    """Render the chart into objects."""

    def objects(*args: str | Path, chart: Path = CHART) -> list[dict[str, Any]]:
        done = template(*args, chart=chart)
        assert done.returncode == 0, done.stderr
        return [obj for obj in yaml.safe_load_all(done.stdout) if obj]

    return objects
