"""``python -m inferenceversion_operator --help`` says what it is and every variable that it reads."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from inferenceversion_operator import __version__, config
from inferenceversion_operator.__main__ import VARIABLES, main


def test_every_variable_is_explained_and_no_other():
    read = set(re.findall(r"IVO_[A-Z_]+[A-Z]", Path(config.__file__).read_text("utf-8")))
    assert set(VARIABLES) == read, "__main__.py explains what config.py reads"


def test_help_is_told_without_a_configuration(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    said = capsys.readouterr().out
    assert end.value.code == 0
    assert "releases inference services" in said
    assert all(re.search(rf"^  {name} +{re.escape(text)}$", said, re.MULTILINE) for name, text in VARIABLES.items())
    assert max(map(len, said.splitlines())) <= 120


def test_an_argument_that_there_is_not_is_named(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--kubeconfig=x"])
    assert end.value.code == 2
    assert "unrecognized arguments: --kubeconfig=x" in capsys.readouterr().err


def test_the_module_runs_as_the_image_starts_it():
    asked = [sys.executable, "-m", "inferenceversion_operator", "--version"]
    folder = Path(config.__file__).parents[1]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (__version__, "")
