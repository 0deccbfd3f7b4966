"""The command line as a user runs it: arguments in; stdout, stderr and exit code out."""

import copy
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.app import app
from tests.unit.cli.fake_api import FakeApi

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "cli"
MANIFEST = GOLDEN / "version.yaml"  # a copy: goldens don't change with the examples


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch, tmp_path):
    """No kubeconfig, no operator's settings and no forced colour from outside."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "IVO_GUARD_IMAGE", "IVO_FETCH_IMAGE", "IVO_GATEWAY_DOMAIN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def iv():
    """Run ``kubectl iv``; a traceback is a failure of the test, not an exit code."""

    def run(*args, **kwargs):
        return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False, **kwargs)

    return run


@pytest.fixture
def in_the_canary(monkeypatch):
    """It is two minutes into the canary step of tests/golden/cli/news.yaml, for ever."""
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 11, 30, 10, 22, tzinfo=UTC))


@pytest.fixture
def a_manifest():
    """The manifest with changes: dotted path -> value; None removes the field."""

    def make(changes=None, **metadata):
        obj = yaml.safe_load(MANIFEST.read_text())
        obj["metadata"] |= metadata
        for path, value in (changes or {}).items():
            *parents, last = path.split(".")
            inner = obj
            for parent in parents:
                inner = inner.setdefault(parent, {})
            if value is None:
                inner.pop(last, None)
            else:
                inner[last] = copy.deepcopy(value)
        return obj

    return make


@pytest.fixture
def files(tmp_path):
    """Write manifests to a file of this name, several as documents."""

    def write(name, *objects):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n".join(yaml.safe_dump(obj, sort_keys=False) for obj in objects))
        return path

    return write


@pytest.fixture
def api():
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def cluster(api, tmp_path, monkeypatch):
    """The fake API server with the objects of tests/golden/cli/news.yaml, and KUBECONFIG set to it."""
    api.add(*yaml.safe_load_all((GOLDEN / "news.yaml").read_text()))
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path / "kubeconfig")))
    return api
