import json

import pytest

from inferenceversion_operator.fetch.errors import FetchError, Reason
from inferenceversion_operator.fetch.place import arrange
from inferenceversion_operator.fetch.plan import Move, Part, load_plan, parse_plan

HASH = "sha256:" + "a" * 64
GOOD = {"source": "https://h/m.onnx", "weightHash": HASH, "fileName": "model.onnx"}


def test_the_plan_of_the_contract(tmp_path):
    path = tmp_path / "fetch.json"
    part = {"name": "preprocessor", "path": "preprocessor", "hash": HASH}
    layout = [{"from": ".", "to": "news_sentiment/1"}]
    configs = [{"key": "config.pbtxt", "to": "news_sentiment/config.pbtxt"}]
    path.write_text(json.dumps({**GOOD, "mounted": "/source", "parts": [part], "layout": layout, "configs": configs}))
    plan = load_plan(path)
    assert plan.parts == (Part("preprocessor", "preprocessor", HASH),)
    assert plan.layout == (Move(".", "news_sentiment/1"),)
    assert (plan.allow_insecure, plan.allow_loopback) == (False, False)


BAD = {
    "no source": ({"source": None}, "source"),
    "source is a number": ({"source": 3}, "source"),
    "space in the source": ({"source": "https://h/a b"}, "source"),
    "newline in the source": ({"source": "https://h/a\r\nX: y"}, "source"),
    "hash in upper case": ({"weightHash": "sha256:" + "A" * 64}, "weightHash"),
    "hash of another kind": ({"weightHash": "md5:" + "a" * 32}, "weightHash"),
    "no hash": ({"weightHash": None}, "weightHash"),
    "file name with a folder": ({"fileName": "a/b"}, "fileName"),
    "file name that leads out": ({"fileName": ".."}, "fileName"),
    "part of an unknown name": ({"parts": [{"name": "weights", "path": "x", "hash": HASH}]}, "parts[0].name"),
    "part that is everything": ({"parts": [{"name": "preprocessor", "path": ".", "hash": HASH}]}, "parts[0].path"),
    "part that leads out": ({"parts": [{"name": "preprocessor", "path": "../x", "hash": HASH}]}, "parts[0].path"),
    "part without hash": ({"parts": [{"name": "preprocessor", "path": "x"}]}, "parts[0].hash"),
    "layout that leads out": ({"layout": [{"from": ".", "to": "../etc"}]}, "layout[0].to"),
    "layout to an absolute path": ({"layout": [{"from": ".", "to": "/etc"}]}, "layout[0].to"),
    "layout from outside": ({"layout": [{"from": "/etc", "to": "m"}]}, "layout[0].from"),
    "layout is a mapping": ({"layout": {}}, "layout"),
    "config key that leads out": ({"configs": [{"key": "../fetch.json", "to": "m"}]}, "configs[0]"),
    "config to nowhere": ({"configs": [{"key": "c", "to": "."}]}, "configs[0]"),
    "needs something outside": ({"needs": ["../model.py"]}, "needs"),
    "needs that are numbers": ({"needs": [1]}, "needs"),
    "a word for a switch": ({"allowLoopback": "yes"}, "allowLoopback"),
}


@pytest.mark.parametrize(("change", "field"), BAD.values(), ids=BAD.keys())
def test_a_bad_plan_is_refused_by_the_name_of_its_field(change, field):
    with pytest.raises(FetchError) as caught:
        parse_plan({**GOOD, **change})
    assert caught.value.reason is Reason.PLAN_INVALID
    assert field in caught.value.message


@pytest.mark.parametrize("text", ["", "[]", "{", "nul", "[" * 100_000, " " * (2 << 20)])
def test_what_is_no_json_object_is_refused(tmp_path, text):
    (tmp_path / "fetch.json").write_text(text)
    with pytest.raises(FetchError) as caught:
        load_plan(tmp_path / "fetch.json")
    assert caught.value.reason is Reason.PLAN_INVALID


def moves(*pairs):
    return {**GOOD, "layout": [{"from": source, "to": to} for source, to in pairs]}


LAYOUTS = {
    "all of it": (
        [(".", "m/1")],
        {"model.onnx": "m/1/model.onnx", "pre/t.json": "m/1/pre/t.json", "pre/x/y": "m/1/pre/x/y"},
    ),
    "as it is": ([(".", ".")], {"model.onnx": "model.onnx", "pre/t.json": "pre/t.json", "pre/x/y": "pre/x/y"}),
    "a part of its own": (
        [(".", "graph/1"), ("pre", "pre/1")],
        {"model.onnx": "graph/1/model.onnx", "pre/t.json": "pre/1/t.json", "pre/x/y": "pre/1/x/y"},
    ),
    "the longest from wins": (
        [("pre/x", "x/1"), ("pre", "pre/1"), (".", "graph/1")],
        {"model.onnx": "graph/1/model.onnx", "pre/t.json": "pre/1/t.json", "pre/x/y": "x/1/y"},
    ),
    "a file goes into a folder": (
        [(".", "a"), ("model.onnx", "m/1")],
        {"model.onnx": "m/1/model.onnx", "pre/t.json": "a/pre/t.json", "pre/x/y": "a/pre/x/y"},
    ),
    "a file goes to its name": (
        [(".", "a"), ("model.onnx", "m/1/model.onnx")],
        {"model.onnx": "m/1/model.onnx", "pre/t.json": "a/pre/t.json", "pre/x/y": "a/pre/x/y"},
    ),
}
FILES = dict.fromkeys(("model.onnx", "pre/t.json", "pre/x/y"), "00")


@pytest.mark.parametrize(("pairs", "targets"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_layout_says_where_each_file_goes(pairs, targets):
    assert arrange(parse_plan(moves(*pairs)), FILES) == targets


BAD_LAYOUTS = {
    "a from that is not there": ([(".", "m"), ("post", "p")], Reason.SOURCE_INVALID, "there is no post"),
    "a file that nobody takes": ([("pre", "p")], Reason.PLAN_INVALID, "no entry takes model.onnx"),
    "two files to one place": ([(".", "m"), ("pre/x", "m/pre")], Reason.PLAN_INVALID, None),
    "a file in the way of a folder": ([(".", "m"), ("pre", "m/model.onnx")], Reason.PLAN_INVALID, "below the file"),
}


@pytest.mark.parametrize(("pairs", "reason", "words"), BAD_LAYOUTS.values(), ids=BAD_LAYOUTS.keys())
def test_a_layout_that_cannot_be(pairs, reason, words):
    files = {**FILES, "pre/y": "00"}
    with pytest.raises(FetchError) as caught:
        arrange(parse_plan(moves(*pairs)), files)
    assert caught.value.reason is reason
    assert words is None or words in caught.value.message


def test_a_source_without_what_triton_loads_is_refused_and_says_what_it_has():
    layout = [{"from": ".", "to": "m/1"}]
    plan = parse_plan({**GOOD, "layout": layout, "needs": ["m/1/model.py"]})
    with pytest.raises(FetchError, match=r"there is no model.py in https://h/m.onnx, .* there is main.py") as caught:
        arrange(plan, {"main.py": HASH})
    assert caught.value.reason is Reason.SOURCE_INVALID
    assert arrange(plan, {"model.py": HASH}) == {"model.py": "m/1/model.py"}


def test_what_triton_loads_may_be_a_folder():
    plan = parse_plan(
        {**GOOD, "layout": [{"from": ".", "to": "m/1/model.savedmodel"}], "needs": ["m/1/model.savedmodel"]}
    )
    assert arrange(plan, {"saved_model.pb": HASH})
