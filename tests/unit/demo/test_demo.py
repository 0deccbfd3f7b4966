import pytest

from demo.ask import Answer, table
from demo.cluster import ROOT, image_values, read_exports
from demo.version import EXAMPLE, NEXT_EXAMPLE, news, with_image

IMAGE = "localhost/triton-sentiment@sha256:" + "a" * 64


@pytest.mark.parametrize("example", [EXAMPLE, NEXT_EXAMPLE])
def test_the_examples_image_is_replaced_and_nothing_else(example):
    before = (ROOT / example).read_text().splitlines()
    after = with_image((ROOT / example).read_text(), IMAGE).splitlines()
    changed = [(b.strip(), a.strip()) for b, a in zip(before, after, strict=True) if b != a]
    assert [a for _, a in changed] == [f"image: {IMAGE}"]


def test_an_example_without_a_placeholder_is_not_applied_as_it_is():
    with pytest.raises(ValueError, match="0 placeholders"):
        with_image("image: real@sha256:" + "1" * 64, IMAGE)


def test_a_condition_is_told_when_it_changes_and_only_then():
    told: dict[str, str] = {}
    loading = {"conditions": [{"type": "Loaded", "status": "Unknown", "message": "loading"}]}
    loaded = {"conditions": [{"type": "Loaded", "status": "True", "message": "Triton serves the model"}]}
    assert list(news(loading, told)) == []
    assert list(news(loaded, told)) == ["Loaded          True     Triton serves the model"]
    assert list(news(loaded, told)) == []
    assert list(news({}, told)) == []


def test_the_table_has_a_line_an_answer():
    answers = [Answer("Ferry is late", "negative", (0.9, 0.08, 0.02), "2.4.0", "sha256:" + "ab" * 32, 12.3)]
    assert list(table(answers)) == [
        "headline       label     neg/neu/pos     version  digest               took",
        "-------------  --------  --------------  -------  -------------------  -----",
        "Ferry is late  negative  0.90 0.08 0.02  2.4.0    sha256:abababababab  12 ms",
    ]


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
