"""The summary of `make test` may not say ok of a phase that found nothing out."""

import runpy
from pathlib import Path

import pytest

PHASES = runpy.run_path(str(Path(__file__).resolve().parents[2] / ".ci" / "phases.py"))
UNIT = PHASES["Phase"]("unit", ("unit",))


@pytest.mark.parametrize(
    ("report", "code", "ok", "failed"),
    [
        ('<testsuite tests="3" skipped="1"/>', 0, True, 0),
        ('<testsuite tests="3" failures="1"><testcase name="a"><failure/></testcase></testsuite>', 1, False, 1),
        ('<testsuite tests="3"/>', 2, False, 1),
        ('<testsuite tests="0"/>', 5, False, 1),
        ('<testsuite tests="3" skipped="3"/>', 0, False, 1),
        (None, 1, False, 1),
    ],
    ids=["passed", "failed", "interrupted", "no tests", "all skipped", "no report"],
)
def test_a_phase_is_ok_when_tests_ran_and_passed(tmp_path, report, code, ok, failed):
    file = tmp_path / "unit.xml"
    if report:
        file.write_text(f"<testsuites>{report}</testsuites>")
    outcome = PHASES["counted"](UNIT, file, code, 1.0)
    assert (outcome.ok, outcome.failed) == (ok, failed)
