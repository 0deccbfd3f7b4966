import subprocess

import pytest

from demo.cluster import ROOT, image_values, read_exports
from demo.endpoint import Look
from demo.version import told_before
from inferenceversion_operator.cli.views.status import view_endpoint


def test_exports_are_read_as_a_shell_would():
    assert read_exports("export A=1\nexport B='two words'\n") == {"A": "1", "B": "two words"}


@pytest.mark.parametrize(
    ("reference", "values"),
    [
        ("localhost/envoy:1.40.0", {"repository": "localhost/envoy", "tag": "1.40.0"}),
        ("docker.io/a/envoy:v1@sha256:ab", {"repository": "docker.io/a/envoy", "tag": "v1", "digest": "sha256:ab"}),
        ("localhost:5000/operator@sha256:ab", {"repository": "localhost:5000/operator", "digest": "sha256:ab"}),
        ("localhost:5000/operator", {"repository": "localhost:5000/operator"}),
        ("operator", {"repository": "operator"}),
    ],
)
def test_an_image_becomes_values_of_the_chart(reference, values):
    assert image_values("image", reference) == {f"image.{key}": value for key, value in values.items()}


PROMOTED = {"version": "2.4.0", "outcome": "Promoted"}


@pytest.mark.parametrize(
    ("versions", "history", "spec", "before"),
    [
        (["2.4.0"], [PROMOTED], {}, False),
        ([], [], {}, False),
        (["2.4.0", "2.4.1"], [PROMOTED], {}, True),
        (["2.4.0"], [{"version": "2.4.1", "outcome": "Failed"}, PROMOTED], {}, True),
        (["2.4.0"], [PROMOTED, PROMOTED], {}, True),
        (["2.4.0"], [PROMOTED], {"version": "2.4.0"}, True),
        (["2.4.0"], [PROMOTED], {"paused": True}, True),
    ],
)
def test_a_story_that_was_told_before_begins_anew(versions, history, spec, before):
    endpoint = {"metadata": {"name": "news-sentiment", "namespace": "default"}, "spec": spec}
    objects = tuple(
        {"metadata": {"name": f"n-{v}"}, "spec": {"version": v, "endpoint": "news-sentiment"}} for v in versions
    )
    assert told_before(Look(view_endpoint(endpoint, objects), tuple(history), objects)) is before


@pytest.mark.parametrize(("words", "called"), [((), "-m demo up"), (("ACT=rollback",), "-m demo up --act rollback")])
def test_make_demo_plays_the_story_or_one_act(words, called):
    said = subprocess.run(["make", "-n", "demo", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert next(line.rstrip() for line in said.splitlines() if "-m demo" in line).endswith(called)
