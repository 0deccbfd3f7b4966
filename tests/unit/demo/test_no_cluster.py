"""Without a cluster: the stories end with one line of what to do, and not with a success of skipped tests."""

import os
import subprocess
import sys

from demo.cluster import ROOT


def stories_without_a_cluster(tmp_path, *more):
    environment = {name: value for name, value in os.environ.items() if name not in ("CLUSTER", "KUBECONFIG")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/e2e/test_names.py", *more]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"IVO_CACHE": str(tmp_path / "empty")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_stories_alone_end_with_what_to_do(tmp_path):
    done = stories_without_a_cluster(tmp_path)
    assert done.returncode != 0
    (line,) = (line for line in (done.stdout + done.stderr).splitlines() if "cluster" in line)
    assert "the cluster is down: `make up` first, or CLUSTER=existing and KUBECONFIG" in line


def test_beside_other_tests_they_are_skipped(tmp_path):
    done = stories_without_a_cluster(tmp_path, "tests/unit/support/test_wait.py")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert " skipped" in done.stdout
