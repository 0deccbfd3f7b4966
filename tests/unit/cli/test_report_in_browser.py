"""The page in a real Chromium: both colour schemes, no complaint, nothing asked of the network, numbers to be seen."""

from datetime import UTC, datetime

import pytest
import yaml

from inferenceversion_operator.cli.views.report.evidence import collect
from inferenceversion_operator.cli.views.report.page import make_page
from tests.support.browser import open_page
from tests.support.chromium import NoBrowser, chromium
from tests.unit.cli.conftest import GOLDEN
from tests.unit.cli.test_report import EVIL

OBJECTS = list(yaml.safe_load_all((GOLDEN / "news.yaml").read_text()))
NOW = datetime(2026, 11, 30, 10, 22, tzinfo=UTC)
# What is drawn and can be seen: in the page's own words, whatever the font.
SEEN = "document.body.innerText"
DRAWN = "[...document.querySelectorAll('svg text')].map(t => t.textContent)"
# Contrast (WCAG 2) of the colour of each element with what is behind the page.
CONTRAST = """
(() => {
  const light = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...[...document.querySelectorAll('h1, h2, p, dt, dd, th, td, .verdict, .badge')].map(e => {
    const own = light(getComputedStyle(e).color);
    return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
  }));
})()
"""


@pytest.fixture(scope="module", autouse=True)
def browser():
    try:
        return chromium()
    except NoBrowser as error:
        pytest.skip(str(error))


@pytest.fixture
def page_of(tmp_path):
    def write(version, change=lambda entry: None):
        endpoint = yaml.safe_load(yaml.safe_dump(OBJECTS[0]))
        change(endpoint["status"]["history"][0])
        versions = [obj for obj in OBJECTS if obj["kind"] == "InferenceVersion"]
        path = tmp_path / "report.html"
        path.write_text(make_page(collect(endpoint, versions, version, NOW)), "utf-8")
        return path

    return write


@pytest.mark.parametrize("dark", [False, True])
async def test_numbers_are_seen_in_both_colour_schemes(page_of, dark):
    path = page_of("2.4.1")
    async with open_page(path, dark=dark) as page:
        assert page.complaints == []
        assert page.requests == [path.as_uri()]
        text = await page.evaluate(SEEN)
        for said in ("Promoted", "0.999616", ">= 0.999", "41.2", "ada@example.com", "50 %"):
            assert said in text, said
        assert {"shadow", "5 %", "25 %", "50 %", "08:30"} <= set(await page.evaluate(DRAWN))
        assert await page.evaluate("document.querySelector('path.line').getTotalLength()") > 300
        assert await page.evaluate(CONTRAST) >= 4.5
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") is not dark
        assert (await page.screenshot()).startswith(b"\x89PNG")


@pytest.mark.parametrize("width", [360, 1100])
async def test_nothing_is_wider_than_the_window(page_of, width):
    def change(entry):
        entry["message"] = entry["by"] = entry["gates"][0]["message"] = "x" * 200

    async with open_page(page_of("2.4.1", change), width=width) as page:
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_hostile_text_does_nothing(page_of):
    def change(entry):
        entry |= dict.fromkeys(("name", "digest", "message", "by", "instead"), EVIL)
        entry["gates"][0] |= {"message": EVIL, "value": EVIL}

    async with open_page(page_of("2.4.1", change)) as page:
        assert page.complaints == []
        assert len(page.requests) == 1
        assert await page.evaluate("document.querySelectorAll('script, img').length") == 0
        assert "<script>alert(1)</script>" in await page.evaluate(SEEN)


async def test_what_is_under_way_is_drawn_up_to_now(page_of):
    async with open_page(page_of("2.4.2")) as page:
        assert page.complaints == []
        assert "under way" in await page.evaluate(SEEN)
