"""docs/reference/cli.md says what the commands say."""

import importlib.util

from inferenceversion_operator.cli.app import OFFLINE, ON_CLUSTER
from tests.unit.cli.conftest import ROOT


def test_the_page_is_fresh():
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "docs" / "cli_reference.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.page() == script.PAGE.read_text(), "run: python docs/cli_reference.py"


def test_every_command_is_in_it():
    text = (ROOT / "docs" / "reference" / "cli.md").read_text()
    for name in (*ON_CLUSTER, *OFFLINE):
        assert f"### {name}\n" in text
