"""The export of the GPU reference model, as far as it goes without its weights."""

import json
import sys

import export_cardiffnlp as export
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers


def test_opset_and_revision_have_defaults():
    options = export.parser().parse_args(["--out", "here"])
    assert (options.opset, options.revision) == (15, "main")


def test_the_folder_has_to_be_named(capsys):
    with pytest.raises(SystemExit):
        export.parser().parse_args([])
    assert "--out" in capsys.readouterr().err


def test_labels_in_the_order_of_the_contract_are_taken():
    assert export.check_labels({2: "positive", 0: "Negative", 1: "neutral"}) == ["negative", "neutral", "positive"]


def test_another_order_of_labels_is_refused():
    with pytest.raises(ValueError, match="the contract is"):
        export.check_labels({0: "positive", 1: "neutral", 2: "negative"})


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("thanks @mayor and @council_2!", "thanks @user and @user"),
        ("see http://a.example/b?c now", "see http now"),
        ("mail me@example", "mail me@example"),
        ("plain", "plain"),
    ],
)
def test_names_and_addresses_are_replaced_by_the_tokenizer(text, normal):
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(4)
    made = export.tokenizer_json(tokenizer)
    assert json.loads(made)["truncation"] is None
    assert Tokenizer.from_str(made).normalizer.normalize_str(text) == normal


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine").touch()
    assert export.main(["--out", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_missing_packages_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert export.main(["--out", str(tmp_path / "out")]) == 1
    assert "needs torch and transformers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
