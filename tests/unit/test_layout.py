"""Rules of the tree that no linter knows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import inferenceversion_operator

ROOT = Path(__file__).resolve().parents[2]
OPERATOR = ROOT / "operator"
PACKAGE = OPERATOR / "inferenceversion_operator"
# A request that changes something, in any of the ways in which the package could send one.
WRITE = re.compile(
    r"""["'](?:POST|PUT|PATCH|DELETE)["']"""
    r"""|\.(?:post|patch)\(|session\.(?:put|delete)\("""
    r"""|\b(?:create|replace|patch|delete)_(?:namespaced|cluster)_\w+\("""
)
# Other processes, which talk to something else than the API server, or as the person who calls them; and the layers that
# know no client at all (import-linter checks that), though they may make texts in which a method is named.
ELSEWHERE = ("cli/", "fetch/", "differ/", "core/", "api/", "adapters/prometheus/")


def test_operator_folder_is_no_package():
    # Python started at the top level would take it for the standard module `operator` and die in `collections`.
    assert not (OPERATOR / "__init__.py").exists()


def test_operator_folder_holds_only_the_package():
    assert [path.name for path in OPERATOR.iterdir() if path.name != "__pycache__"] == [PACKAGE.name]


def test_write_verbs_are_in_the_writer_only():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith(ELSEWHERE) and WRITE.search(path.read_text())
    }
    assert found <= {"adapters/kube/writer.py"}, (
        "only the writer writes: field manager and leadership are checked there"
    )


def test_every_folder_of_the_package_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_versions_agree():
    chart = (ROOT / "charts/inferenceversion-operator/Chart.yaml").read_text()
    version = inferenceversion_operator.__version__
    assert f"\nversion: {version}\n" in chart
    assert f'\nappVersion: "{version}"\n' in chart


def test_locked_requirements_name_no_index_and_no_address():
    for path in [*ROOT.glob("requirements/*.txt"), *ROOT.glob("images/*/*requirements.txt")]:
        lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
        text = "\n".join(lines)
        assert "://" not in text, path
        assert not re.search(r"^\s*(?:--(?:index|extra-index|find-links|trusted)|-i |-f )", text, re.MULTILINE), path


def test_locked_requirements_all_have_hashes():
    for path in [*ROOT.glob("requirements/*.txt"), *ROOT.glob("images/operator/requirements.txt")]:
        pins = re.findall(r"^([a-z0-9][^\s=]*)==\S+ (\\?)$", path.read_text(), re.MULTILINE)
        assert pins, path
        assert [name for name, more in pins if not more] == [], path


def test_wheel_is_the_package_and_the_crds():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["packages"] == ["operator/inferenceversion_operator"]
    assert build["force-include"] == {"crds": "inferenceversion_operator/crds"}


# The official client is not among them: kopf imports it where it is installed, and the operator's image has none.
@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("inferenceversion_operator.__main__", ("cel", "jsonschema", "obstore", "onnx", "rich", "typer")),
        ("inferenceversion_operator.fetch.__main__", ("aiohttp", "cel", "jsonschema", "kopf", "kubernetes", "typer")),
        ("inferenceversion_operator.differ.__main__", ("kopf", "kubernetes", "numpy", "obstore", "typer", "yaml")),
        ("inferenceversion_operator.cli.app", ("aiohttp", "kopf", "kubernetes", "obstore", "onnx")),
    ],
)
def test_a_process_loads_nothing_that_only_others_need(module, others):
    code = f"import sys, {module}; print(*sorted(set({others!r}) & sys.modules.keys()))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={"PYTHONPATH": str(OPERATOR)}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
