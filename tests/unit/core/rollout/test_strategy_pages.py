"""The pages of docs/strategies: their manifests are valid, and what they say happens when is what happens."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from inferenceversion_operator.api.lint import lint
from inferenceversion_operator.api.parse import parse_version
from inferenceversion_operator.api.schema import validate
from tests.support.builders import a_version
from tests.support.world import START
from tests.unit.core.rollout.conftest import PASS, says
from tests.unit.core.rollout.stories import serving

PAGES = sorted((Path(__file__).parents[4] / "docs/strategies").glob("*.md"))
HEAD = ("AFTER", "NAME", "STABLE", "CANDIDATE", "WEIGHT", "PHASE", "READY", "REASON")
READY_AFTER, TICK, END = 40, 20, 3 * 3600  # seconds; all that the pages ask for is a multiple of the tick


@pytest.fixture(params=PAGES, ids=lambda page: page.stem)
def page(request):
    return request.param.read_text()


def block(page, start):
    """Return the fenced block that begins so."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return next(text for text in blocks if text.startswith(start))


def test_there_is_a_page_for_every_strategy():
    assert len(PAGES) == 4


def test_the_manifest_is_one(page):
    manifest = yaml.safe_load(block(page, "apiVersion"))
    assert validate(manifest) == []
    placeholder = "placeholder"
    assert [problem for problem in lint(manifest) if placeholder not in problem.message] == []


def test_it_happens_as_the_page_says(page):
    manifest = yaml.safe_load(block(page, "apiVersion"))
    told = block(page, "$ kubectl get iep").splitlines()[1:]
    assert told == table(play(parse_version(manifest)))


def play(version):
    """Release a version over 2.4.0, its pods ready after a while and its gates content: what kubectl shows and when."""
    world = serving().apply(a_version(version.version, traffic=version.traffic))
    world.prometheus = says(latency=PASS, errors=PASS)
    shown = []
    for seconds in range(0, END, TICK):
        world.now = START + timedelta(seconds=seconds)
        world.settle(ready=seconds >= READY_AFTER)
        row = columns(world.endpoint.status)
        if not shown or shown[-1][1:] != row:
            shown.append((f"{seconds // 60}:{seconds % 60:02d}", *row))
        if "candidate" not in world.endpoint.status:
            return shown
    raise AssertionError(f"not promoted after {END} s")


def columns(status):
    candidate = status.get("candidate") or {}
    ready = next(c for c in status["conditions"] if c["type"] == "Ready")
    weight = str(candidate.get("weight", ""))
    return ("news-sentiment", status["stable"], candidate.get("version", ""), weight, status["phase"], *_of(ready))


def _of(condition):
    return condition["status"], condition["reason"]


def table(rows):
    lines = [HEAD, *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEAD))]
    return ["   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
