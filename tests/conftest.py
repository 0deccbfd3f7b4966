"""What every test may use: goldens, and marks that follow from the folder a test is in."""

from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-goldens", action="store_true", help="write what comes out as the new golden (make golden)"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(TESTS) and (folder := item.path.relative_to(TESTS).parts[0]) in (
            "integration",
            "e2e",
        ):
            item.add_marker(folder)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare text with a golden file; ``make golden`` writes it instead, and the diff is reviewed like code."""
    rewrite = request.config.getoption("--rewrite-goldens")

    def compare(path: Path, text: str) -> None:
        if rewrite:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.is_file(), f"{path} is not there: `make golden` writes it"
        assert text == path.read_text(), (
            f"{path.relative_to(TESTS)} differs: if that is meant, `make golden` and review"
        )

    return compare
