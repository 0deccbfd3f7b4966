"""The report of a release: what is collected, how it is drawn, and that nothing of it is taken for HTML."""

import re
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
import yaml

from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.views.report import chart
from inferenceversion_operator.cli.views.report.chart import Bound, Line, plot, stairs
from inferenceversion_operator.cli.views.report.evidence import Point, Report, Series, collect
from inferenceversion_operator.cli.views.report.page import make_page
from tests.unit.cli.conftest import GOLDEN

NOW = datetime(2026, 11, 30, 10, 22, tzinfo=UTC)
OBJECTS = list(yaml.safe_load_all((GOLDEN / "news.yaml").read_text()))
VERSIONS = [obj for obj in OBJECTS if obj["kind"] == "InferenceVersion"]
EVIL = """</text></title></svg><script>alert(1)</script><img src=x onerror='alert(2)' title="3">{{ 4 }}"""


@pytest.fixture
def endpoint():
    return deepcopy(OBJECTS[0])


class Tags(HTMLParser):
    """The tags and attributes that a page has, and the text outside of them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text.append(data)


# ---- what is collected ----


def test_what_is_under_way_comes_first(endpoint):
    report = collect(endpoint, VERSIONS, None, NOW)
    assert (report.version, report.outcome, report.since) == ("2.4.2", "UnderWay", "2026-11-30T10:10:00Z")
    assert report.until == report.written_at == "2026-11-30T10:22:00Z"
    assert report.compared_with == "2.4.1"
    assert report.message.startswith("version 2.4.2 has 25 %")
    assert [(step.weight, step.until) for step in report.steps] == [
        (0, "2026-11-30T10:16:00Z"),
        (5, "2026-11-30T10:20:00Z"),
        (25, None),
    ]


def test_else_what_ended_last(endpoint):
    del endpoint["status"]["candidate"]
    report = collect(endpoint, VERSIONS, None, NOW)
    assert (report.version, report.outcome, report.by) == ("2.4.1", "Promoted", "ada@example.com")
    assert report.steps[-1].until == report.until == "2026-11-30T09:00:40Z"


def test_a_release_by_its_version_or_name(endpoint):
    assert collect(endpoint, VERSIONS, "2.3.0", NOW) == collect(endpoint, VERSIONS, "news-sentiment-2.3.0", NOW)


def test_the_latest_of_two_releases_of_a_version(endpoint):
    again = {**endpoint["status"]["history"][1], "outcome": "Aborted"}
    endpoint["status"]["history"].insert(0, again)
    assert collect(endpoint, VERSIONS, "2.3.0", NOW).outcome == "Aborted"


def test_what_is_not_known_is_said(endpoint):
    with pytest.raises(UserError, match=r"knows of no release of 9\.9\.9 \(of: 2\.4\.2, 2\.4\.1, 2\.3\.0, 2\.4\.0\)"):
        collect(endpoint, VERSIONS, "9.9.9", NOW)
    endpoint["status"] = {}
    with pytest.raises(UserError, match="no release in its history yet"):
        collect(endpoint, VERSIONS, None, NOW)


def test_the_difference_is_there_while_both_versions_are(endpoint):
    changed = deepcopy(VERSIONS)
    next(v for v in changed if v["spec"]["version"] == "2.4.1")["spec"]["guardrails"]["timeout"] = "3s"
    (change,) = collect(endpoint, changed, "2.4.1", NOW).changes
    assert (change.field, change.a, change.b) == ("guardrails.timeout", "5s", "3s")
    assert collect(endpoint, changed[1:], "2.4.1", NOW).changes is None
    changed[0]["spec"] = {"version": "2.4.0"}
    assert collect(endpoint, changed, "2.4.1", NOW).changes is None


# ---- how it is drawn ----


def test_a_value_holds_until_the_next_one():
    drawn = stairs([(0, 0.0), (10, 5.0), (20, 5.0), (30, 100.0)])
    assert [(p.at, p.value) for p in drawn] == [(0, 0), (10, 0), (10, 5), (20, 5), (30, 5), (30, 100)]


def test_a_gap_is_a_gap():
    line = Line("2.4.2", "candidate", tuple(Point(at, None if at == 5 else 1.0) for at in range(10)))
    (path,) = plot("p95", [line], between=(0, 9), unit=" ms").paths
    assert path.line.count("M") == 2


def test_lines_and_bounds_stay_inside():
    line = Line("v", "stable", (Point(-100, 3.0), Point(50, 1e-9), Point(900, 250.0)))
    drawn = plot("x", [line], between=(0, 100), unit="", bounds=[Bound("bound", 400.0)])
    numbers = re.findall(r"(-?[\d.]+) (-?[\d.]+)", drawn.paths[0].line)
    assert all(chart.LEFT <= float(x) <= chart.WIDTH - chart.RIGHT for x, _ in numbers)
    heights = [*(float(y) for _, y in numbers), drawn.bounds[0].at]
    assert all(chart.TOP <= y <= chart.HEIGHT - chart.BOTTOM for y in heights)


@pytest.mark.parametrize("values", [(0.0, 0.0), (5.0, 5.0), (-3.0, 2.0), (99.98, 99.99), (1e-6, 2e-6), (1e12, 3e12)])
def test_every_range_has_marks(values):
    drawn = plot("x", [Line("v", "stable", tuple(Point(i, v) for i, v in enumerate(values)))], between=(0, 1), unit="")
    assert 2 <= len(drawn.y_ticks) <= 12


@pytest.mark.parametrize("length", [1, 45, 600, 7200, 90_000, 3_000_000, 90_000_000])
def test_every_length_has_few_marks_of_time(length):
    begin = 1_764_000_000.5
    assert len(plot("x", [], between=(begin, begin + length), unit="").x_ticks) <= 8


# ---- the page ----


@pytest.fixture
def full(endpoint):
    report = collect(endpoint, VERSIONS, "2.4.1", NOW)
    begin = datetime(2026, 11, 30, 8, 0, tzinfo=UTC).timestamp()

    def series(measure, version, value):
        return Series(measure, version, tuple(Point(begin + 60 * i, value + i % 3) for i in range(60)))

    values = {"p95": 41.0, "p99": 90.0, "success": 97.5, "requests": 12.0}
    measured = [series(name, v, value) for name, value in values.items() for v in ("2.4.1", "2.4.0")]
    return replace(report, series=tuple(measured))


def test_the_page_has_the_evidence_and_needs_nothing_else(full):
    page = make_page(full)
    for said in ("0.999616", "&gt;= 0.999", "Inconclusive", "sha256:2412412", "ada@example.com", "2.3.0", "42 ms"):
        assert said in page, said
    assert page.count("<svg") == 5
    assert "script" not in Tags(page).tags
    assert not re.search(r"""(?:src|href)=["'](?!data:)|url\(|@import""", page)
    assert "bound &gt;= 99.9" in page


def test_what_the_cluster_says_is_text(full):
    evil = deepcopy(OBJECTS[0])
    entry = evil["status"]["history"][0]
    entry |= dict.fromkeys(("name", "digest", "reason", "message", "by", "instead", "outcome"), EVIL)
    entry["steps"][0] |= {"phase": EVIL}
    for gate in entry["gates"]:
        gate.update(dict.fromkeys(("name", "reason", "message", "value", "bound", "verdict"), EVIL))
    versions = deepcopy(VERSIONS)
    versions[0]["spec"]["version"] = EVIL
    versions[0]["spec"]["runtime"]["env"] = [{"name": "A", "value": EVIL}]
    evil["metadata"]["name"] = EVIL
    series = tuple(replace(each, version=EVIL if each.version == "2.4.0" else each.version) for each in full.series)
    page = make_page(replace(collect(evil, versions, "2.4.1", NOW), series=series, series_missing=EVIL))
    plain = Tags(make_page(full))
    hostile = Tags(page)
    assert hostile.tags <= plain.tags | {"dt", "dd"}
    assert hostile.attributes <= plain.attributes
    assert "alert(1)" in "".join(hostile.text)
    assert "{{ 4 }}" in page


@pytest.mark.parametrize("gone", ["since", "until", "steps", "gates", "message", "digest", "instead"])
def test_a_page_of_little(endpoint, gone):
    entry = endpoint["status"]["history"][0]
    entry.pop(gone, None)
    assert "2.4.1" in make_page(collect(endpoint, [], "2.4.1", NOW))


def test_the_least_that_a_history_may_hold():
    status = {"history": [{"version": "1.0.0"}]}
    report = collect({"metadata": {"name": "e", "namespace": "n"}, "status": status}, [], None, NOW)
    assert isinstance(report, Report)
    assert "1.0.0" in make_page(report)


# ---- the command ----


def test_a_file_is_written_and_named(iv, cluster, tmp_path, monkeypatch, in_the_canary):
    monkeypatch.chdir(tmp_path)
    result = iv("report", "news-sentiment")
    assert (result.exit_code, result.stdout) == (0, "news-sentiment-2.4.2.html\n")
    page = (tmp_path / "news-sentiment-2.4.2.html").read_text()
    assert iv("report", "news-sentiment", "-o", "-").stdout == page + "\n"
    assert iv("report", "news-sentiment", "-o", "no/such/folder.html").exit_code == 2


def test_as_data(iv, cluster, golden, in_the_canary):
    result = iv("report", "news-sentiment", "--version", "2.4.1", "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    golden(GOLDEN / "report" / "view.json", result.stdout)
    assert yaml.safe_load(iv("report", "news-sentiment", "-o", "yaml").stdout)["outcome"] == "UnderWay"


def test_a_release_that_is_not_known(iv, cluster):
    result = iv("report", "news-sentiment", "--version", "9.9.9", "-o", "-")
    assert (result.exit_code, result.stdout) == (1, "")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "not an address", "ftp://127.0.0.1"])
def test_without_prometheus_there_are_no_plots_and_the_page_says_why(iv, cluster, url):
    result = iv("report", "news-sentiment", "-o", "-", "--prometheus", url)
    assert result.exit_code == 0
    assert "note: no plots: Prometheus at" in result.stderr
    assert "No plots: Prometheus at" in result.stdout


def test_what_is_not_prometheus_is_told(iv, cluster):
    result = iv("report", "news-sentiment", "-o", "-", "--prometheus", cluster.url)
    assert result.exit_code == 0
    assert "note: no plots: " in result.stderr
