"""The cluster, the operator in it and a namespace for each story; what a person would look at when a test fails."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, NoClusterError, find_cluster, install_operator
from tests.support.cluster_namespace import Namespace, diagnose, fresh_namespace

# "outside": an operator runs already (from the tree, say); it is not installed.
OPERATOR = os.environ.get("E2E_OPERATOR", "chart")


def pytest_collection_finish(session: pytest.Session) -> None:
    """End a run of these stories alone where there is no cluster: all of them skipped would look like success."""
    ours = all(Path(__file__).parent in item.path.parents for item in session.items)
    if not session.items or not ours or session.config.option.collectonly:
        return
    try:
        find_cluster().api.close()
    except NoClusterError as reason:
        pytest.exit(str(reason), returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    try:
        found = find_cluster()
    except NoClusterError as reason:
        pytest.skip(str(reason))
    yield found
    found.api.close()


@pytest.fixture(scope="session")
def operator_image(cluster: Cluster) -> str:
    return cluster.load_image("operator")


@pytest.fixture(scope="session")
def image(cluster: Cluster) -> str:
    """Return the news-sentiment image by digest, on every node."""
    return cluster.load_image("triton-sentiment")


@pytest.fixture(scope="session")
def operator(cluster: Cluster, operator_image: str) -> None:
    if OPERATOR != "outside":
        install_operator(cluster, operator_image)


@pytest.fixture(scope="module")
def ns(request: pytest.FixtureRequest, cluster: Cluster, operator: None) -> Iterator[Namespace]:
    """Make a namespace for the file, under the strictest Pod Security Standard."""
    topic = request.node.path.stem.removeprefix("test_").replace("_", "-")
    with fresh_namespace(cluster, topic) as namespace:
        yield namespace


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    namespace = getattr(item, "funcargs", {}).get("ns")
    if report.failed and isinstance(namespace, Namespace):
        try:
            report.sections.append((f"cluster, namespace {namespace.name}", diagnose(namespace)))
        except Exception as error:  # noqa: BLE001 - the test's own failure is what counts
            report.sections.append(("cluster", f"could not look: {error!r}"))
    return report
