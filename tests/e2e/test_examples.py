"""What the repository shows to newcomers works as it is shown."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from demo.cluster import ROOT
from demo.headlines import HEADLINES
from demo.version import remove_versions
from tests.support.cluster import Cluster
from tests.support.cluster_namespace import Namespace

EXAMPLES = sorted(path.relative_to(ROOT) for path in (ROOT / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_api_server_takes_the_example(ns: Namespace, example):
    said = ns.kubectl.run("apply", "--dry-run=server", "-f", str(ROOT / example))
    assert "created (server dry run)" in said


@pytest.fixture
def emptied(cluster: Cluster, operator) -> Iterator[Cluster]:
    if os.environ.get("E2E_OPERATOR") == "outside":
        pytest.skip("the demo installs the operator by its chart")
    remove_versions(cluster)  # somebody may have tried the demo
    yield cluster
    remove_versions(cluster)


@pytest.mark.timeout(900)
def test_the_demo_tells_its_story_and_its_curl_line_works_as_printed(emptied: Cluster):
    said = emptied.call([sys.executable, "-m", "demo", "up"], within=840)
    rows = [line for line in said.splitlines() if "  sha256:" in line and " ms" in line]
    assert len(rows) == len(HEADLINES)
    assert all(re.search(r"(negative|neutral|positive) +\d\.\d\d \d\.\d\d \d\.\d\d  2\.4\.0", row) for row in rows)
    assert len(re.findall(r"^  \d+ requests, 0 failed; 2\.4", said, re.MULTILINE)) == 3
    assert "promoted: serves all traffic instead of 2.4.0" in said
    assert "FAIL  mismatch " in said
    assert "failed: 2.4.1 keeps all requests" in said
    assert "answers of 2.4.2 that a client got: 0" in said
    curl = said[said.index("  curl ") :].split("\n\n")[0]
    answer = subprocess.run(["bash", "-euc", curl], capture_output=True, text=True, check=True, timeout=30).stdout
    head, _, body = answer.replace("\r", "").partition("\n\n")
    assert head.startswith("HTTP/1.1 200")
    assert "x-inference-version: 2.4.0" in head
    assert json.loads(body)["outputs"][0]["data"][0] in ("negative", "neutral", "positive")
